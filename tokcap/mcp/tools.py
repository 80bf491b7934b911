"""What the tools do: check the arguments of a call, and run, show or search. Results are within the limit."""

from __future__ import annotations

import os
from base64 import b64encode
from typing import TYPE_CHECKING, Any

from tokcap.api.background import Run, wait_for
from tokcap.api.calls import command_environment, count, run_command, show
from tokcap.api.captured_environment import CapturedEnvironment, Interrupted, StoppableCommand
from tokcap.environment import Environment, ToolReader
from tokcap.errors import CommandNotFound, TokcapError, UsageError
from tokcap.mcp.media import image_in, media_in
from tokcap.mcp.results import (
    Shown,
    cost_of_result,
    error_result,
    room_tokens,
    shown_by_run,
    shown_by_show,
    status_result,
    text_result,
)
from tokcap.mcp.tool_table import BY_NAME, PROXY_READER, PROXY_TOOL
from tokcap.shapes import terser
from tokcap.store import open_store
from tokcap.store.handles import split_offset
from tokcap.store.running import LATEST_RUNNING
from tokcap.system.shell import shell_argv

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from tokcap.api.charged_session import Hold
    from tokcap.mcp.messages import Cancellation
    from tokcap.mcp.settings import ServerSettings
    from tokcap.mcp.tool_table import Argument, Tool

    Given: TypeAlias = dict[str, Any]
    ToolResult: TypeAlias = dict[str, Any]

# A client kills the server two seconds after it has closed the connection. Commands must have ended by then.
KILL_AFTER_SECONDS = 1.0
# How long `wait` waits, unless it is told. Many clients give up after a minute.
WAIT_SECONDS = 30.0
# Where the width and the height of an image are, behind all that a camera may say about itself.
HEADER_BYTES = 1 << 20
AS_SHELL = "pass a command line as shell"


class StoredTools:
    """Shows and searches stored outputs, for the server and for the proxy. Calls may run in threads."""

    def __init__(self, settings: ServerSettings, names: ToolReader, tools: Mapping[str, Tool]) -> None:
        """`names` are the tools that marks name from now on, in the whole process."""
        CapturedEnvironment.for_reader(names)
        # Load the vocabulary, so that the first call need not wait for it.
        count("tokcap", settings.tokenizer)
        self._settings = settings
        self._tools = tools

    def call(
        self, name: str, given: Given, cancellation: Cancellation, problem: str = ""
    ) -> ToolResult | None:
        """Return the result of a call, which may be an error; None if the call was cancelled.

        `problem` says why the call cannot be made, if that is known.
        """
        settings, values = self._settings, {}
        refused: TokcapError | None = None
        try:
            if problem:
                raise UsageError(problem)
            if name not in self._tools:
                raise UsageError(f"unknown tool {name!r}; the tools are {', '.join(self._tools)}")
            values = checked(self._tools[name], given)
            if name == "budget_status":
                return status_result(settings.session.read() if settings.session else None, settings)
        except UsageError as error:
            refused = error
        try:
            hold = settings.hold(values.pop("limit", None))
        except TokcapError as error:
            return error_result(error, settings.limit_tokens, settings)
        result: ToolResult | None = None
        try:
            if refused:
                raise refused
            result = self.work(name, values, hold, cancellation)
        except Interrupted:
            pass
        except TokcapError as error:
            result = error_result(error, hold.tokens, settings)
        except Exception as error:
            problem = f"internal error: {type(error).__name__}: {error}"
            result = error_result(TokcapError(problem), hold.tokens, settings)
        if result is None or cancellation.is_requested:
            hold.release()
            return None
        hold.settle(cost_of_result(result, settings.tokenizer))
        return result

    def work(self, name: str, given: Given, hold: Hold, _: Cancellation) -> ToolResult:
        """Return the result of `show` or `grep`, within what is held."""
        if "pattern" in given:
            if not given["pattern"]:
                raise UsageError("pattern is empty")
            given["grep"] = given.pop("pattern")
            # A search shows lines, so what selects a value does not apply.
            given.pop("pointer", None)
        else:
            # A page has an offset and goes on from there. Without one, the best part is wanted, as in a run.
            given = {"keep": self._settings.keep, **given}
        if not (given.get("offset") or split_offset(given["handle"])[1]):
            # A later page keeps the mode in which its offset was counted.
            given["mode"] = terser(given.get("mode", "raw"), hold.mode)
        found = show(**given, limit=hold.tokens, tokenizer=self._settings.tokenizer)
        return text_result(shown_by_show(found), hold.tokens, self._settings)


class ProxyTools(StoredTools):
    """The tool of the proxy, which shows and searches."""

    def __init__(self, settings: ServerSettings) -> None:
        super().__init__(settings, PROXY_READER, {PROXY_TOOL.name: PROXY_TOOL})

    def work(self, name: str, given: Given, hold: Hold, cancellation: Cancellation) -> ToolResult:
        """Return the result of `tokcap_show`. A stored image that fits is shown as one."""
        handle, offset = split_offset(given["handle"])
        if not offset and not given.keys() & {"pattern", "pointer", "offset"}:
            stored = open_store(Environment(os.environ)).open(handle)
            try:
                payload = stored.streams["out"]
                head = payload.read(0, min(payload.size, HEADER_BYTES))
                data = payload.read(0, payload.size) if image_in(head) else b""
            finally:
                stored.close()
            block = {"type": "image", "data": b64encode(data).decode()}
            media = media_in(block["data"], "", self._settings.tokenizer)
            if media and media.tokens and media.tokens <= hold.tokens:
                return {"content": [{**block, "mimeType": media.type}]}
        return super().work(name, given, hold, cancellation)


class ServerTools(StoredTools):
    """The tools of the server."""

    def __init__(self, settings: ServerSettings) -> None:
        super().__init__(settings, ToolReader(), BY_NAME)
        # Commands in the background.
        self._started: list[Run] = []

    def close(self) -> None:
        """End the commands in the background: nobody can read what they write."""
        for run in self._started:
            run.stop()
        for run in self._started:
            run.join(2 * KILL_AFTER_SECONDS)

    def work(self, name: str, given: Given, hold: Hold, cancellation: Cancellation) -> ToolResult:
        if name == "wait":
            found = wait_for(
                given.pop("handle", LATEST_RUNNING),
                "mcp",
                **{"timeout": WAIT_SECONDS, **given},
                limit=hold.tokens,
                tokenizer=self._settings.tokenizer,
                gave_up=lambda: cancellation.is_requested,
            )
            shown = Shown(found.text, words=found.words.decode("utf-8", "replace"))
            return text_result(shown, hold.tokens, self._settings)
        if name != "run":
            return super().work(name, given, hold, cancellation)
        settings, argv, shell = self._settings, given.pop("argv", None), given.pop("shell", "")
        if bool(argv) == bool(shell):
            raise UsageError("give either argv or shell")
        environment = command_environment(
            given.pop("stdin", None), None, given.pop("cwd", None) or None, None
        )
        command = StoppableCommand()
        cancellation.stops(command.interrupt)
        words = argv or shell_argv([shell], ["-c"], os.environ)
        ruled = settings.for_tool(words)
        limit = min(hold.tokens, ruled.limit_tokens)
        options = {
            "keep": ruled.keep,
            "kill_after": KILL_AFTER_SECONDS,
            **ruled.filter_options(),
            **given,
            "mode": terser(ruled.mode, hold.mode),
            "tokenizer": settings.tokenizer,
            "limit": limit - room_tokens(limit),
        }
        if options.pop("background", False):
            run = Run(words, {"spill": "always", **options}, environment)
            self._started.append(run)
            return text_result(Shown(f"[RUNNING] wait handle={run.name}\n"), hold.tokens, settings)
        try:
            result = run_command(words, options, environment, command.open_source)
        except CommandNotFound as error:
            if argv and len(argv) == 1 and any(ch.isspace() or ch in "|&;<>$`" for ch in argv[0]):
                # A whole command line as one word.
                raise CommandNotFound(f"{error}; {AS_SHELL}") from None
            raise
        return text_result(shown_by_run(result), hold.tokens, settings)


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
            if int(value) < argument.least:
                raise UsageError(f"{argument.name}: at least {argument.least} is expected")
            return int(value)
        raise UsageError(f"{argument.name}: a whole number is expected")
    if argument.kind == "number" and is_number:
        return value
    if argument.kind == "boolean":
        if value in (True, False, "true", "false"):
            return value in (True, "true")
        raise UsageError(f"{argument.name}: true or false is expected")
    # A duration may have a unit, which is checked later: "1.5m".
    if not isinstance(value, str):
        raise UsageError(f"{argument.name}: a {argument.kind} is expected")
    if argument.choices and value not in argument.choices:
        raise UsageError(f"{argument.name}: {value!r} is not one of {', '.join(argument.choices)}")
    return value
