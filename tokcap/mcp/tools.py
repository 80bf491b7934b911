"""What the tools do: check the arguments of a call, and run, show or search. Results are within the limit."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tokcap.api.calls import command_environment, count, run_command, show
from tokcap.api.captured_environment import CapturedEnvironment, Interrupted, StoppableCommand
from tokcap.environment import ToolReader
from tokcap.errors import CommandNotFound, TokcapError, UsageError
from tokcap.mcp.results import (
    error_result,
    room_tokens,
    shown_by_run,
    shown_by_show,
    status_result,
    text_result,
)
from tokcap.mcp.tool_table import BY_NAME, PROXY_TOOL
from tokcap.system.shell import shell_argv

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from tokcap.api.results import Capped
    from tokcap.mcp.messages import Cancellation
    from tokcap.mcp.settings import ServerSettings
    from tokcap.mcp.tool_table import Argument, Tool

    Given: TypeAlias = dict[str, Any]
    ToolResult: TypeAlias = dict[str, Any]

# A client kills the server two seconds after it has closed the connection. Commands must have ended by then.
KILL_AFTER_SECONDS = 1.0
AS_SHELL = "pass a command line as shell"
# The child process uses the server's `sys.path`, and never the current directory.
SEARCHING = "import sys; sys.path[:] = sys.argv[1:]; from tokcap.mcp.tools import search_here; search_here()"


class StoredTools:
    """Shows and searches stored outputs, for the server and for the proxy. Calls may run in threads."""

    def __init__(self, settings: ServerSettings, names: ToolReader) -> None:
        """`names` are the tools that marks name from now on, in the whole process."""
        CapturedEnvironment.for_reader(names)
        # Load the vocabulary, so that the first call need not wait for it.
        count("tokcap", settings.tokenizer)
        self._settings = settings
        self._names = names

    def answer(self, work: Callable[[], ToolResult], cancellation: Cancellation) -> ToolResult | None:
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

    def refused(self, error: TokcapError) -> ToolResult:
        """Return the result of a call that cannot be made."""
        return error_result(error, self._settings)

    def show(self, given: Given, _: Cancellation) -> ToolResult:
        # A page has an offset and goes on from there. Without one, the best part is wanted, as in a run.
        options = {"keep": self._settings.keep, **given}
        return self._within_limit(options, lambda options: show(**options))

    def grep(self, given: Given, cancellation: Cancellation) -> ToolResult:
        if not given["pattern"]:
            raise UsageError("pattern is empty")
        options = {**given, "grep": given["pattern"]}
        del options["pattern"]
        return self._within_limit(options, lambda options: search(options, cancellation, self._names))

    def _within_limit(self, options: Given, do: Callable[[Given], Capped[str]]) -> ToolResult:
        limit = self._settings.allowed_tokens(options.get("limit"))
        room = room_tokens(limit, sentinel=options.get("sentinel"))
        found = do({**options, **self._settings.charge_options(), "limit": limit - room})
        return text_result(shown_by_show(found), limit, self._settings)


class ProxyTools(StoredTools):
    """The tool of the proxy, which shows and searches."""

    def __init__(self, settings: ServerSettings) -> None:
        super().__init__(settings, ToolReader(PROXY_TOOL.name, PROXY_TOOL.name))

    def call(self, given: Given, cancellation: Cancellation) -> ToolResult | None:
        """Return the result of a call; None if it was cancelled."""

        def work() -> ToolResult:
            values = checked(PROXY_TOOL, given)
            if "pattern" not in values:
                return self.show(values, cancellation)
            # A search shows lines, so what selects values does not apply.
            for name in ("pointer", "keep", "focus"):
                values.pop(name, None)
            return self.grep(values, cancellation)

        return self.answer(work, cancellation)


class ServerTools(StoredTools):
    """The tools of the server."""

    def __init__(self, settings: ServerSettings) -> None:
        super().__init__(settings, ToolReader())
        self._tools = {
            "run": self._run,
            "show": self.show,
            "grep": self.grep,
            "budget_status": self._budget_status,
        }

    def call(self, name: str, given: Given, cancellation: Cancellation) -> ToolResult | None:
        """Return the result of a call, which may be an error; None if the call was cancelled."""

        def work() -> ToolResult:
            if name not in self._tools:
                raise UsageError(f"unknown tool {name!r}; the tools are {', '.join(self._tools)}")
            return self._tools[name](checked(BY_NAME[name], given), cancellation)

        return self.answer(work, cancellation)

    def _run(self, given: Given, cancellation: Cancellation) -> ToolResult:
        settings, argv, shell = self._settings, given.pop("argv", None), given.pop("shell", "")
        if bool(argv) == bool(shell):
            raise UsageError("give either argv or shell")
        limit = settings.allowed_tokens(given.get("limit"))
        room = room_tokens(limit, sentinel=given.get("sentinel"), runs=True)
        environment = command_environment(
            given.pop("stdin", None), None, given.pop("cwd", None) or None, None
        )
        command = StoppableCommand()
        cancellation.stops(command.interrupt)
        options = {
            "keep": settings.keep,
            "kill_after": KILL_AFTER_SECONDS,
            **given,
            **settings.charge_options(),
            **settings.filter_options(),
            "limit": limit - room,
        }
        words = argv or shell_argv([shell], ["-c"], os.environ)
        try:
            result = run_command(words, options, environment, command.open_source)
        except CommandNotFound as error:
            if argv and len(argv) == 1 and any(ch.isspace() or ch in "|&;<>$`" for ch in argv[0]):
                # A whole command line as one word.
                raise CommandNotFound(f"{error}; {AS_SHELL}") from None
            raise
        return text_result(shown_by_run(result), limit, settings)

    def _budget_status(self, _given: Given, _: Cancellation) -> ToolResult:
        session = self._settings.session
        return status_result(session.read() if session else None, self._settings)


def checked(tool: Tool, given: Mapping[str, Any]) -> Given:
    """Return the arguments of a call by name; `UsageError` for the first that is wrong.

    An argument that is null counts as not given: some models give every argument.
    """
    known = {argument.name: argument for argument in tool.arguments}
    for unknown in sorted(given.keys() - known.keys()):
        names = f"its arguments are {', '.join(sorted(known))}" if known else "it takes none"
        raise UsageError(f"{tool.name}: unknown argument {unknown!r}; {names}")
    values = {each: value_of(known[each], value) for each, value in given.items() if value is not None}
    for argument in tool.arguments:
        if argument.required and argument.name not in values:
            raise UsageError(f"{tool.name}: the argument {argument.name} is missing")
    return values


def value_of(argument: Argument, value: Any) -> Any:
    """Return the value of an argument. A number may be written as a string, as some models do."""
    if argument.kind == "strings":
        if isinstance(value, list) and all(isinstance(word, str) for word in value):
            return value
        raise UsageError(f"{argument.name}: a list of strings is expected; {AS_SHELL}")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if argument.kind == "integer":
        is_digits = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20
        if is_digits or (is_number and value % 1 == 0):
            return int(value)
        raise UsageError(f"{argument.name}: a whole number is expected")
    if argument.kind == "number" and is_number:
        return value
    # A duration may have a unit, which is checked later: "1.5m".
    if not isinstance(value, str):
        raise UsageError(f"{argument.name}: a {argument.kind} is expected")
    if argument.choices and value not in argument.choices:
        raise UsageError(f"{argument.name}: {value!r} is not one of {', '.join(argument.choices)}")
    return value


def search(options: Given, cancellation: Cancellation, names: ToolReader) -> Capped[str]:
    """Run `show` in a child process: a bad pattern can run forever, and only a process can be killed.

    It is killed if the call is cancelled. `names` are the tools that its mark names.
    """
    with subprocess.Popen(
        (sys.executable, "-P", "-c", SEARCHING, *sys.path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as child:
        cancellation.stops(child.kill)
        try:
            reply, _ = child.communicate(pickle.dumps((names, options)))
        except BaseException:
            child.kill()
            raise
    if not reply:
        raise TokcapError(f"internal error: the search ended with status {child.returncode}")
    found: Capped[str] | TokcapError = pickle.loads(reply)  # noqa: S301  # written by the child process above
    if isinstance(found, TokcapError):
        raise found
    return found


def search_here() -> None:
    """In the child process: read the arguments of `show` from stdin, write its result, or its error."""
    names, options = pickle.loads(sys.stdin.buffer.read())  # noqa: S301  # written by `search`
    CapturedEnvironment.for_reader(names)
    found: Capped[str] | TokcapError
    try:
        found = show(**options)
    except TokcapError as error:
        found = error
    sys.stdout.buffer.write(pickle.dumps(found))
