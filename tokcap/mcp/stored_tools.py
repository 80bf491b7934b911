"""Tools that read stored outputs, for the server and for the proxy. Results are within the limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokcap.api.calls import count, show
from tokcap.api.captured_environment import CapturedEnvironment
from tokcap.api.stoppable import Interrupted
from tokcap.errors import TokcapError, UsageError
from tokcap.mcp.search_process import search
from tokcap.mcp.structured import MEMBERS_TOKENS, structured_result, structured_text
from tokcap.mcp.tool_results import error_result, room_tokens, shown_by_show, text_result

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcap.environment import ToolNames
    from tokcap.mcp.cancellation import Cancellation
    from tokcap.mcp.server_settings import ServerSettings
    from tokcap.mcp.tool_results import Shown


class StoredTools:
    """Shows and searches stored outputs. Each call may be made in its own thread."""

    def __init__(self, settings: ServerSettings, names: ToolNames) -> None:
        """`names` are the tools that marks name from now on, in the whole process."""
        CapturedEnvironment.for_tool_callers(names)
        self._settings = settings
        self._names = names

    def warm_up(self) -> None:
        """Load the vocabulary, so that the first call need not wait for it."""
        count("tokcap", self._settings.tokenizer)

    def answer(self, work: Callable[[], dict[str, Any]], cancellation: Cancellation) -> dict[str, Any] | None:
        """Return the result of a call, which may be an error; None if the call was cancelled."""
        try:
            return work()
        except Interrupted:
            return None
        except TokcapError as error:
            return self.refused(error)
        except Exception as error:
            if cancellation.is_requested:
                return None
            return self.refused(TokcapError(f"internal error: {type(error).__name__}: {error}"))

    def refused(self, error: TokcapError) -> dict[str, Any]:
        """Return the result of a call that cannot be made."""
        return self.message(error_result(error, self._settings))

    def message(self, result: dict[str, Any]) -> dict[str, Any]:
        """Return a result that is only a message, in the form that the user asked for."""
        return structured_text(result, self._settings) if self._settings.structured else result

    def page(self, handle: str, options: dict[str, Any]) -> Shown:
        """Return a window of a stored output, which is not charged."""
        return shown_by_show(show(handle, tokenizer=self._settings.tokenizer, **options))

    def show(self, given: dict[str, Any], _: Cancellation) -> dict[str, Any]:
        settings = self._settings
        limit = settings.allowed_tokens(given.pop("limit", None))
        # A page has an offset and goes on from there. Without one, the best part is wanted, as in a run.
        view = {"keep": settings.keep, **given}

        def show_within(tokens: int, **charge: Any) -> Shown:
            return shown_by_show(show(limit=tokens, tokenizer=settings.tokenizer, **view, **charge))

        room = self.room(limit, given)
        return self.result(show_within(limit - room, session=settings.session_name), limit, show_within)

    def grep(self, given: dict[str, Any], cancellation: Cancellation) -> dict[str, Any]:
        settings, pattern = self._settings, given.pop("pattern")
        if not pattern:
            raise UsageError("pattern is empty")
        limit, handle = settings.allowed_tokens(given.pop("limit", None)), given.pop("handle")

        def search_within(tokens: int, **charge: Any) -> Shown:
            options = {"tokenizer": settings.tokenizer, "grep": pattern, **given, **charge}
            return shown_by_show(search(handle, cancellation, self._names, limit=tokens, **options))

        room = self.room(limit, given)
        return self.result(search_within(limit - room, session=settings.session_name), limit, search_within)

    def room(self, limit: int, given: dict[str, Any], *, runs: bool = False) -> int:
        """Return how many tokens of the limit are left for what is added to the output."""
        if self._settings.structured:
            return min(MEMBERS_TOKENS, max(limit // 2, 0)) if limit > 1 else 0
        return room_tokens(limit, sentinel=given.get("sentinel"), runs=runs)

    def result(self, shown: Shown, limit: int, again: Callable[[int], Shown]) -> dict[str, Any]:
        if self._settings.structured:
            return structured_result(shown, limit, self._settings, again)
        return text_result(shown, limit, self._settings)
