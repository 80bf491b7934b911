"""The MCP server: it offers the tools over stdin and stdout until the client closes the connection."""

from __future__ import annotations

import asyncio
import inspect
import signal
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.types import ToolAnnotations
from pydantic import ValidationError

from tokcap import __version__, exits
from tokcap.api.captured_environment import CapturedEnvironment
from tokcap.errors import ReaderGone, TokcapError, UsageError
from tokcap.mcp.argument_hints import AS_SHELL, unknown_argument
from tokcap.mcp.rejected_lines import AnsweredLines
from tokcap.mcp.tool_results import result_of_error
from tokcap.mcp.tools import Tools

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mcp.server.mcpserver import Context
    from mcp.types import CallToolResult, InputRequiredResult, Tool

    from tokcap.mcp.server_settings import ServerSettings

INSTRUCTIONS = (
    "Runs commands and shows their output up to a token limit. Output that is cut ends with a mark that "
    "names the handle of the stored output and the next token offset: pass them to show or grep."
)

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# How long to wait for the last line to be written.
LAST_LINE_SECONDS = 0.5


class Server(MCPServer[Any]):
    """A server with four tools. An error in a tool is a result with a stable code, within the limit."""

    def __init__(self, tools: Tools, settings: ServerSettings, on_end: Callable[[], None]) -> None:
        """`on_end` is called when the client sends no more requests or can no longer be reached."""

        @asynccontextmanager
        async def lifespan(_: MCPServer[Any]) -> AsyncIterator[None]:
            try:
                yield
            finally:
                on_end()

        super().__init__(
            "tokcap",
            version=__version__,
            instructions=INSTRUCTIONS,
            lifespan=lifespan,
            # Errors are part of the results. Clients often show stderr to the user, so log nothing there.
            log_level="CRITICAL",
        )
        self._settings = settings
        self._arguments: dict[str, frozenset[str]] = {}
        self._offer(tools.run, ToolAnnotations(destructive_hint=True, open_world_hint=True))
        reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
        for tool in (tools.show, tools.grep, tools.budget_status):
            self._offer(tool, reads)

    def _offer(self, tool: Any, annotations: ToolAnnotations) -> None:
        self._arguments[tool.__name__] = frozenset(inspect.signature(tool).parameters)
        self.add_tool(
            tool, description=" ".join((inspect.getdoc(tool) or "").split()), annotations=annotations
        )

    async def list_tools(self) -> list[Tool]:
        tools = await super().list_tools()
        return [
            tool.model_copy(
                update={
                    "input_schema": without_noise(tool.input_schema),
                    "output_schema": without_noise(tool.output_schema),
                }
            )
            for tool in tools
        ]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        try:
            # The package ignores unknown arguments. A misspelled one would change the meaning of the call.
            for unknown in sorted(arguments.keys() - self._arguments.get(name, arguments.keys())):
                raise unknown_argument(name, unknown, self._arguments[name])
            return await super().call_tool(name, arguments, context)
        except MCPError:
            raise
        except Exception as error:
            return await asyncio.to_thread(result_of_error, tokcap_error(error), self._settings)

    async def run_stdio_async(self) -> None:
        """Serve as the package does, but answer every line."""
        server = self._lowlevel_server
        async with stdio_server() as (incoming, outgoing):
            lines = AnsweredLines(incoming, outgoing, lambda error: result_of_error(error, self._settings))
            await server.run(lines, outgoing, server.create_initialization_options())


def without_noise(schema: Any) -> Any:
    """Return a schema without redundant parts, because the model reads it on every turn."""
    if isinstance(schema, list):
        return [without_noise(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: without_noise(value)
        for key, value in schema.items()
        if key != "title" and not (key == "default" and value in (None, ""))
    }
    # "null" is not needed: a caller without a value omits the argument.
    kinds = [kind for kind in kept.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) == 1:
        del kept["anyOf"]
        kept |= kinds[0]
    elif kinds:
        kept["anyOf"] = kinds
    return kept


def tokcap_error(error: Exception) -> TokcapError:
    """Return the error that the package has wrapped, as a `TokcapError`."""
    if isinstance(error, TokcapError):
        return error
    cause = error.__cause__ if isinstance(error, ToolError) else error
    if isinstance(cause, TokcapError):
        return cause
    if isinstance(cause, ValidationError):
        first = cause.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        hint = f"; {AS_SHELL}" if place == "argv" else ""
        return UsageError(f"{place}: {first['msg']}{hint}")
    if cause is None:
        return UsageError(str(error))
    return TokcapError(f"internal error: {type(cause).__name__}: {cause}")


def serve(settings: ServerSettings) -> int:
    """Serve until the client closes the connection or a signal arrives. Return the exit status."""
    CapturedEnvironment.for_tool_callers()
    # The loop is never closed: a thread of the package waits in `read`, and closing would wait for it.
    return asyncio.new_event_loop().run_until_complete(serve_until_end(settings))


async def serve_until_end(settings: ServerSettings) -> int:
    tools = Tools(settings)
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def end(status: int) -> None:
        if not ended.done():
            ended.set_result(status)

    for number in ENDING_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, end, exits.SIGNAL_BASE + number)
    server = Server(tools, settings, lambda: end(exits.OK))
    serving = loop.create_task(server.run_stdio_async())
    serving.add_done_callback(lambda _: end(exits.OK))
    status = await ended
    await tools.close()
    if status == exits.OK:
        # Let it finish its last line. If the client no longer reads, this would wait forever.
        await asyncio.wait([serving], timeout=LAST_LINE_SECONDS)
    if serving.done() and (failure := serving.exception()):
        if isinstance(failure, BaseExceptionGroup) and failure.subgroup(BrokenPipeError):
            raise ReaderGone("the client has closed the connection")
        raise failure
    return status
