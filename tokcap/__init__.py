"""tokcap: run a command, or read standard input, and pass on no more tokens than asked."""

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.api.asynchronous import arun
    from tokcap.api.calls import cap, count, run, show
    from tokcap.api.manager import BudgetManager, TokenCounter
    from tokcap.api.paging import pages
    from tokcap.api.results import Capped, Result
    from tokcap.api.sessions import open_session
    from tokcap.api.toolbudget import ToolBudget
    from tokcap.budget.modes import ResponseMode
    from tokcap.core.notice import Notice
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
    from tokcap.integrations.enabling import enable_token_budget

__version__ = "0.1.0"

# Where each name lives. They are loaded when they are asked for: the command line needs none of them.
_HOMES = {
    "BadNumber": "tokcap.errors",
    "BudgetExhausted": "tokcap.errors",
    "BudgetManager": "tokcap.api.manager",
    "Capped": "tokcap.api.results",
    "CommandNotExecutable": "tokcap.errors",
    "CommandNotFound": "tokcap.errors",
    "LedgerError": "tokcap.errors",
    "NotFound": "tokcap.errors",
    "Notice": "tokcap.core.notice",
    "ResponseMode": "tokcap.budget.modes",
    "Result": "tokcap.api.results",
    "SessionNotStarted": "tokcap.errors",
    "StoreError": "tokcap.errors",
    "StreamError": "tokcap.errors",
    "TokcapError": "tokcap.errors",
    "TokenCounter": "tokcap.api.manager",
    "TokenizerUnavailable": "tokcap.errors",
    "ToolBudget": "tokcap.api.toolbudget",
    "UsageError": "tokcap.errors",
    "arun": "tokcap.api.asynchronous",
    "cap": "tokcap.api.calls",
    "count": "tokcap.api.calls",
    "enable_token_budget": "tokcap.integrations.enabling",
    "open_session": "tokcap.api.sessions",
    "pages": "tokcap.api.paging",
    "run": "tokcap.api.calls",
    "show": "tokcap.api.calls",
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
