"""tokcap: run a command, or read standard input, and pass on no more tokens than asked."""

from tokcap.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.budget import ResponseMode
    from tokcap.errors import BudgetExhausted
    from tokcap.manager import BudgetManager, TokenCounter

__version__ = "0.1.0"

__all__ = ["BudgetExhausted", "BudgetManager", "ResponseMode", "TokenCounter"]

# Where each name lives. They are loaded when they are asked for: the command line needs none of them.
_HOMES = {
    "BudgetExhausted": "tokcap.errors",
    "BudgetManager": "tokcap.manager",
    "ResponseMode": "tokcap.budget",
    "TokenCounter": "tokcap.manager",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'tokcap' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
