"""The tools of the server: the library functions as an agent calls them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tokcap.api.calls import command_environment, count, run_command
from tokcap.api.stoppable import StoppableCommand
from tokcap.environment import ToolNames
from tokcap.errors import CommandNotFound, UsageError
from tokcap.mcp.arguments import checked, command_line_in_argv
from tokcap.mcp.stored_tools import StoredTools
from tokcap.mcp.tool_results import shown_by_run, status_result
from tokcap.mcp.tool_table import BY_NAME
from tokcap.system.shell import shell_argv

if TYPE_CHECKING:
    from tokcap.mcp.cancellation import Cancellation
    from tokcap.mcp.server_settings import ServerSettings
    from tokcap.mcp.tool_results import Shown

# A client kills the server two seconds after it has closed the connection. Commands must have ended by then.
KILL_AFTER_SECONDS = 1.0
# Options of `run` that also select a window of the stored output.
VIEW_OPTIONS = ("offset", "keep", "focus", "shape", "fields", "mode", "sentinel")


class Tools(StoredTools):
    """All tools of the server."""

    def __init__(self, settings: ServerSettings) -> None:
        super().__init__(settings, ToolNames())
        self._tools = {
            "run": self._run,
            "show": self.show,
            "grep": self.grep,
            "budget_status": self._budget_status,
        }

    def call(self, name: str, arguments: dict[str, Any], cancellation: Cancellation) -> dict[str, Any] | None:
        """Return the result of a call, which may be an error; None if the call was cancelled."""

        def work() -> dict[str, Any]:
            tool = BY_NAME.get(name)
            if tool is None:
                raise UsageError(f"unknown tool {name!r}; the tools are {', '.join(BY_NAME)}")
            return self._tools[name](checked(tool, arguments), cancellation)

        return self.answer(work, cancellation)

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
        room = self.room(limit, given, runs=True)
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
                self.page(first.handle, {**view, "limit": max(int(out * per_token), 1)}) if out else None,
                self.page(first.handle, {**plain, "stream": "err"}) if err else None,
            )
            shown, stderr = pages
            return first.but(
                out=shown.out if shown else "",
                err=stderr.out if stderr else "",
                words=shown.words if shown else "",
                truncated=first.truncated or any(page.truncated for page in pages if page),
                next_call=shown.next_call if shown else None,
            )

        return self.result(first, limit, again)

    def _budget_status(self, _given: dict[str, Any], _: Cancellation) -> dict[str, Any]:
        session = self._settings.session
        return self.message(status_result(session.read() if session else None, self._settings))
