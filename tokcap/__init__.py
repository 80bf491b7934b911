"""tokcap caps the output of a command, of standard input or of a text to a number of tokens."""

# Type checkers treat this name as true. Nothing is imported here: an interrupt would show a traceback until
# `__main__` has set its hook for errors.
TYPE_CHECKING = False

__version__ = "0.1.0"

# Every public name is listed twice: with its type for type checkers, and with its module for Python, which
# imports the module when the name is first used. The command line needs none of them.
if TYPE_CHECKING:
    # `X as X` tells a type checker that the name is exported.
    from tokcap.api.asynchronous import arun as arun
    from tokcap.api.background import Run as Run
    from tokcap.api.background import start as start
    from tokcap.api.calls import cap as cap
    from tokcap.api.calls import count as count
    from tokcap.api.calls import pages as pages
    from tokcap.api.calls import run as run
    from tokcap.api.calls import show as show
    from tokcap.api.manager import BudgetManager as BudgetManager
    from tokcap.api.manager import TokenCounter as TokenCounter
    from tokcap.api.manager import open_session as open_session
    from tokcap.api.results import Capped as Capped
    from tokcap.api.results import Result as Result
    from tokcap.api.show_tool import ShowTool as ShowTool
    from tokcap.api.show_tool import show_tool as show_tool
    from tokcap.api.tool_results import ToolBudget as ToolBudget
    from tokcap.api.tool_results import acap_result as acap_result
    from tokcap.api.tool_results import cap_result as cap_result
    from tokcap.budget.arithmetic import ResponseMode as ResponseMode
    from tokcap.core.response import Notice as Notice
    from tokcap.errors import BadNumber as BadNumber
    from tokcap.errors import BudgetExhausted as BudgetExhausted
    from tokcap.errors import CommandNotExecutable as CommandNotExecutable
    from tokcap.errors import CommandNotFound as CommandNotFound
    from tokcap.errors import DamagedOutput as DamagedOutput
    from tokcap.errors import LedgerError as LedgerError
    from tokcap.errors import LedgerUnreachable as LedgerUnreachable
    from tokcap.errors import NotFound as NotFound
    from tokcap.errors import PatternTooSlow as PatternTooSlow
    from tokcap.errors import SessionNotStarted as SessionNotStarted
    from tokcap.errors import StoreError as StoreError
    from tokcap.errors import StreamError as StreamError
    from tokcap.errors import TokcapError as TokcapError
    from tokcap.errors import TokenizerUnavailable as TokenizerUnavailable
    from tokcap.errors import UsageError as UsageError
    from tokcap.integrations.token_budget import enable_token_budget as enable_token_budget
else:
    _NAMES_OF_MODULES = {
        "tokcap.api.asynchronous": "arun",
        "tokcap.api.background": "Run start",
        "tokcap.api.calls": "cap count pages run show",
        "tokcap.api.manager": "BudgetManager TokenCounter open_session",
        "tokcap.api.results": "Capped Result",
        "tokcap.api.show_tool": "ShowTool show_tool",
        "tokcap.api.tool_results": "ToolBudget acap_result cap_result",
        "tokcap.budget.arithmetic": "ResponseMode",
        "tokcap.core.response": "Notice",
        "tokcap.errors": (
            "BadNumber BudgetExhausted CommandNotExecutable CommandNotFound DamagedOutput LedgerError "
            "LedgerUnreachable NotFound PatternTooSlow SessionNotStarted StoreError StreamError "
            "TokcapError TokenizerUnavailable UsageError"
        ),
        "tokcap.integrations.token_budget": "enable_token_budget",
    }
    _MODULE_OF_NAME = {name: module for module, names in _NAMES_OF_MODULES.items() for name in names.split()}

    __all__ = sorted(_MODULE_OF_NAME)

    def __getattr__(name):
        if name not in _MODULE_OF_NAME:
            raise AttributeError(f"module 'tokcap' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_MODULE_OF_NAME[name]), name)

    def __dir__():
        return [*__all__, "__version__"]
