"""The server itself: tools behind the official package, over stdin and stdout, until the client goes."""

from __future__ import annotations

import asyncio
import inspect
import signal
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import ValidationError

from tokcap import __version__, exits
from tokcap.errors import ReaderGone, TokcapError, UsageError
from tokcap.mcp.answers import of_error
from tokcap.mcp.tools import Tools

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mcp.server.mcpserver import Context
    from mcp.types import CallToolResult, InputRequiredResult, Tool

    from tokcap.mcp.terms import Terms

INSTRUCTIONS = (
    "Runs commands and shows no more of their output than a number of tokens. A cut ends in a mark that "
    "names the handle of the stored output and the token to go on from: call show or grep with them."
)

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LAST_LINE_SECONDS = 0.5


class Server(MCPServer[Any]):
    """Four tools. Whatever goes wrong in one is an answer with a stable code, within the limit too."""

    def __init__(self, tools: Tools, terms: Terms, ended: Callable[[], None]) -> None:
        """`ended` is called when no more requests will come, or answers can no longer be sent."""

        @asynccontextmanager
        async def lifespan(_: MCPServer[Any]) -> AsyncIterator[None]:
            try:
                yield
            finally:
                ended()

        super().__init__(
            "tokcap",
            version=__version__,
            instructions=INSTRUCTIONS,
            lifespan=lifespan,
            # What the package would log is told in answers; stderr is often shown to somebody.
            log_level="CRITICAL",
        )
        self._terms = terms
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
                update={"input_schema": lean(tool.input_schema), "output_schema": lean(tool.output_schema)}
            )
            for tool in tools
        ]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        try:
            # The package passes over a misspelt argument, and the call would mean something else.
            for unknown in sorted(arguments.keys() - self._arguments.get(name, arguments.keys())):
                raise UsageError(f"{name}: there is no argument {unknown!r}")
            return await super().call_tool(name, arguments, context)
        except (ToolError, TokcapError) as error:
            return await asyncio.to_thread(of_error, error_behind(error), self._terms)


def lean(schema: Any) -> Any:
    """A schema without what only repeats it. The model that reads it pays for it on every turn."""
    if isinstance(schema, list):
        return [lean(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: lean(value)
        for key, value in schema.items()
        if key != "title" and not (key == "default" and value in (None, ""))
    }
    # Whoever has no value leaves the name out.
    kinds = [kind for kind in kept.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) == 1:
        del kept["anyOf"]
        kept |= kinds[0]
    elif kinds:
        kept["anyOf"] = kinds
    return kept


def error_behind(error: ToolError | TokcapError) -> TokcapError:
    """What the package has wrapped, as an error of tokcap."""
    if isinstance(error, TokcapError):
        return error
    cause = error.__cause__
    if isinstance(cause, TokcapError):
        return cause
    if isinstance(cause, ValidationError):
        first = cause.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        return UsageError(f"{place}: {first['msg']}")
    if cause is None:
        return UsageError(str(error))
    return TokcapError(f"internal error: {type(cause).__name__}: {cause}")


def serve(terms: Terms) -> int:
    """Serve until the client goes or a signal comes; returns the exit status."""
    # Never closed: a thread of the package waits in `read` for the client and cannot be called back from it.
    return asyncio.new_event_loop().run_until_complete(served(terms))


async def served(terms: Terms) -> int:
    tools = Tools(terms)
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def end(status: int) -> None:
        if not ended.done():
            ended.set_result(status)

    for number in ENDING_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, end, exits.SIGNAL_BASE + number)
    server = Server(tools, terms, lambda: end(exits.OK))
    serving = loop.create_task(server.run_stdio_async())
    serving.add_done_callback(lambda _: end(exits.OK))
    status = await ended
    await tools.close()
    if status == exits.OK:
        # It has only to finish its last line; if nobody reads that, it waits for a client that is gone.
        await asyncio.wait([serving], timeout=LAST_LINE_SECONDS)
    if serving.done() and (failure := serving.exception()):
        if isinstance(failure, BaseExceptionGroup) and failure.subgroup(BrokenPipeError):
            raise ReaderGone("the client has gone")
        raise failure
    return status
