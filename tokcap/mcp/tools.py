"""The tools: the library functions as an agent calls them, within the limits of the server."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tokcap.api.calls import command_environment, count, run_command, show
from tokcap.api.captured_environment import CapturedEnvironment
from tokcap.api.stoppable import Interrupted, StoppableCommand
from tokcap.errors import CommandNotFound, TokcapError, UsageError
from tokcap.mcp.arguments import checked, command_line_in_argv
from tokcap.mcp.search_process import search
from tokcap.mcp.structured import MEMBERS_TOKENS, structured_result, structured_text
from tokcap.mcp.tool_results import (
    error_result,
    room_tokens,
    shown_by_run,
    shown_by_show,
    status_result,
    text_result,
)
from tokcap.system.shell import shell_argv

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcap.mcp.cancellation import Cancellation
    from tokcap.mcp.server_settings import ServerSettings
    from tokcap.mcp.tool_results import Shown

# A client kills the server two seconds after it has closed the connection. Commands must have ended by then.
KILL_AFTER_SECONDS = 1.0
# Options of `run` that also select a window of the stored output.
VIEW_OPTIONS = ("offset", "keep", "shape", "fields", "mode", "sentinel")


class Tools:
    """The tools of a server. Each call may be made in its own thread."""

    def __init__(self, settings: ServerSettings) -> None:
        CapturedEnvironment.for_tool_callers()
        self._settings = settings
        self._tools = {
            "run": self._run,
            "show": self._show,
            "grep": self._grep,
            "budget_status": self._budget_status,
        }

    def warm_up(self) -> None:
        """Load the vocabulary, so that the first call need not wait for it."""
        count("tokcap", self._settings.tokenizer)

    def call(self, name: str, arguments: dict[str, Any], cancellation: Cancellation) -> dict[str, Any] | None:
        """Return the result of a call, which may be an error; None if the call was cancelled."""
        try:
            values = checked(name, arguments)
            return self._tools[name](values, cancellation)
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
        result = error_result(error, self._settings)
        return structured_text(result, self._settings) if self._settings.structured else result

    def _run(self, given: dict[str, Any], cancellation: Cancellation) -> dict[str, Any]:
        settings, argv, shell = self._settings, given.pop("argv", None), given.pop("shell", "")
        if bool(argv) == bool(shell):
            raise UsageError("give either argv or shell")
        limit = settings.allowed_tokens(given.pop("limit", None))
        environment = command_environment(
            given.pop("stdin", None), None, given.pop("cwd", None) or None, None
        )
        command = StoppableCommand()
        cancellation.stops(command.interrupt)
        options = {
            "keep": settings.keep,
            "kill_after": KILL_AFTER_SECONDS,
            # The object may have less room than the text, so more of it may have to go.
            "spill": "always" if settings.structured else "auto",
            **given,
            **settings.charge_options(),
            **settings.filter_options(),
        }
        room = self._room(limit, given, runs=True)
        try:
            result = run_command(
                argv or shell_argv([shell], ["-c"], os.environ),
                {**options, "limit": limit - room},
                environment,
                command.open_source,
            )
        except CommandNotFound as error:
            raise command_line_in_argv(error, argv or ()) from None
        first = shown_by_run(result)
        view = {name: options[name] for name in VIEW_OPTIONS if name in options}

        def again(tokens: int) -> Shown:
            """Show the stored streams, in the shares that they had."""
            if not first.handle:
                return first.but(out="", err="")
            out, err = (count(text, settings.tokenizer) for text in (first.out, first.err))
            per_token = tokens / max(out + err, 1)
            plain = {"limit": max(int(err * per_token), 1), "keep": settings.keep}
            pages = (
                self._page(first.handle, {**view, "limit": max(int(out * per_token), 1)}) if out else None,
                self._page(first.handle, {**plain, "stream": "err"}) if err else None,
            )
            shown, stderr = pages
            return first.but(
                out=shown.out if shown else "",
                err=stderr.out if stderr else "",
                words=shown.words if shown else "",
                truncated=first.truncated or any(page.truncated for page in pages if page),
                next_call=shown.next_call if shown else None,
            )

        return self._result(first, limit, again)

    def _page(self, handle: str, options: dict[str, Any]) -> Shown:
        """Return a window of a stored output, which is not charged."""
        return shown_by_show(show(handle, tokenizer=self._settings.tokenizer, **options))

    def _show(self, given: dict[str, Any], _: Cancellation) -> dict[str, Any]:
        settings = self._settings
        limit = settings.allowed_tokens(given.pop("limit", None))
        # A page has an offset and goes on from there. Without one, the best part is wanted, as in a run.
        view = {"keep": settings.keep, **given}

        def show_within(tokens: int, **charge: Any) -> Shown:
            return shown_by_show(show(limit=tokens, tokenizer=settings.tokenizer, **view, **charge))

        room = self._room(limit, given)
        return self._result(show_within(limit - room, session=settings.session_name), limit, show_within)

    def _grep(self, given: dict[str, Any], cancellation: Cancellation) -> dict[str, Any]:
        settings, pattern = self._settings, given.pop("pattern")
        if not pattern:
            raise UsageError("pattern is empty")
        limit, handle = settings.allowed_tokens(given.pop("limit", None)), given.pop("handle")

        def search_within(tokens: int, **charge: Any) -> Shown:
            options = {"tokenizer": settings.tokenizer, "grep": pattern, **given, **charge}
            return shown_by_show(search(handle, cancellation, limit=tokens, **options))

        room = self._room(limit, given)
        return self._result(search_within(limit - room, session=settings.session_name), limit, search_within)

    def _budget_status(self, _given: dict[str, Any], _: Cancellation) -> dict[str, Any]:
        session = self._settings.session
        result = status_result(session.read() if session else None, self._settings)
        return structured_text(result, self._settings) if self._settings.structured else result

    def _room(self, limit: int, given: dict[str, Any], *, runs: bool = False) -> int:
        """Return how many tokens of the limit are left for what is added to the output."""
        if self._settings.structured:
            return min(MEMBERS_TOKENS, max(limit // 2, 0)) if limit > 1 else 0
        return room_tokens(limit, sentinel=given.get("sentinel"), runs=runs)

    def _result(self, shown: Shown, limit: int, again: Callable[[int], Shown]) -> dict[str, Any]:
        if self._settings.structured:
            return structured_result(shown, limit, self._settings, again)
        return text_result(shown, limit, self._settings)
