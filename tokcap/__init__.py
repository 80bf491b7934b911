"""tokcap: run a command, or read standard input, and pass on no more tokens than asked."""

from tokcap.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.budget import ResponseMode
    from tokcap.errors import (
        BadNumber,
        BudgetExhausted,
        CommandNotExecutable,
        CommandNotFound,
        LedgerError,
        NotFound,
        SessionNotStarted,
        StoreError,
        StreamError,
        TokcapError,
        TokenizerUnavailable,
        UsageError,
    )
    from tokcap.integration.enabling import enable_token_budget
    from tokcap.library.asynchronous import arun
    from tokcap.library.calls import cap, count, run, show
    from tokcap.library.paging import pages
    from tokcap.library.results import Capped, Result
    from tokcap.library.sessions import open_session
    from tokcap.library.toolbudget import ToolBudget
    from tokcap.manager import BudgetManager, TokenCounter
    from tokcap.types import Notice

__version__ = "0.1.0"

# Where each name lives. They are loaded when they are asked for: the command line needs none of them.
_HOMES = {
    "BadNumber": "tokcap.errors",
    "BudgetExhausted": "tokcap.errors",
    "BudgetManager": "tokcap.manager",
    "Capped": "tokcap.library.results",
    "CommandNotExecutable": "tokcap.errors",
    "CommandNotFound": "tokcap.errors",
    "LedgerError": "tokcap.errors",
    "NotFound": "tokcap.errors",
    "Notice": "tokcap.types",
    "ResponseMode": "tokcap.budget",
    "Result": "tokcap.library.results",
    "SessionNotStarted": "tokcap.errors",
    "StoreError": "tokcap.errors",
    "StreamError": "tokcap.errors",
    "TokcapError": "tokcap.errors",
    "TokenCounter": "tokcap.manager",
    "TokenizerUnavailable": "tokcap.errors",
    "ToolBudget": "tokcap.library.toolbudget",
    "UsageError": "tokcap.errors",
    "arun": "tokcap.library.asynchronous",
    "cap": "tokcap.library.calls",
    "count": "tokcap.library.calls",
    "enable_token_budget": "tokcap.integration.enabling",
    "open_session": "tokcap.library.sessions",
    "pages": "tokcap.library.paging",
    "run": "tokcap.library.calls",
    "show": "tokcap.library.calls",
}

__all__ = [
    "BadNumber",
    "BudgetExhausted",
    "BudgetManager",
    "Capped",
    "CommandNotExecutable",
    "CommandNotFound",
    "LedgerError",
    "NotFound",
    "Notice",
    "ResponseMode",
    "Result",
    "SessionNotStarted",
    "StoreError",
    "StreamError",
    "TokcapError",
    "TokenCounter",
    "TokenizerUnavailable",
    "ToolBudget",
    "UsageError",
    "arun",
    "cap",
    "count",
    "enable_token_budget",
    "open_session",
    "pages",
    "run",
    "show",
]


# A type checker has read them above, and would take any name for one of them.
if not TYPE_CHECKING:

    def __getattr__(name):
        if name not in _HOMES:
            raise AttributeError(f"module 'tokcap' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
