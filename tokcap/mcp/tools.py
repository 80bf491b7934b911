"""The tools: the library functions as an agent calls them, within the limits of the server.

The model reads all names and descriptions on every turn, so there are few arguments, described in few words.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from mcp.types import CallToolResult  # noqa: TC002  # the package reads annotations at run time
from pydantic import Field

from tokcap.api.asynchronous import arun
from tokcap.api.calls import show
from tokcap.cli.options import BY_KEY
from tokcap.errors import CommandNotFound, UsageError
from tokcap.mcp.argument_hints import command_line_in_argv
from tokcap.mcp.search_process import search
from tokcap.mcp.tool_results import Facts, Status, result_of_run, result_of_show, result_of_status
from tokcap.system.shell import shell_argv

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from tokcap.mcp.server_settings import ServerSettings

# A client kills the server two seconds after it has closed the connection. Commands must have ended by then.
KILL_AFTER_SECONDS = 1.0
SENTINEL = str(BY_KEY["sentinel"].default)

Limit = Annotated[int | None, Field(description="most tokens to return; at most the server's limit")]
Offset = Annotated[int, Field(description="token to start at: next_offset of the last window")]
Handle = Annotated[str, Field(description="handle from a result; @last is the newest")]
Stream = Annotated[Literal["out", "err"], Field(description="which stream of the command")]
Keep = Annotated[Literal["head", "tail", "ends"], Field(description="which part of a large output to show")]
Shape = Annotated[
    Literal["auto", "text", "json", "jsonl", "csv", "tsv"], Field(description="what the output is")
]
Fields = Annotated[str, Field(description="only these keys or columns: a,b.c")]
Mode = Annotated[Literal["raw", "table", "summary", "handle_only"], Field(description="how much to show")]
Sentinel = Annotated[
    str, Field(description="text that marks a cut; empty: no mark, and windows join to the output")
]

WorkResult = TypeVar("WorkResult")


class Tools:
    """The tools of a server, and the calls that are running."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._running: set[asyncio.Task[Any]] = set()

    async def run(
        self,
        argv: Annotated[list[str] | None, Field(description="the command as a list of arguments")] = None,
        shell: Annotated[str, Field(description="or a shell command line")] = "",
        limit: Limit = None,
        offset: Offset = 0,
        timeout: Annotated[
            float | str | None, Field(description="stop the command after this time: 90, 1.5m, 500ms")
        ] = None,
        cwd: Annotated[str, Field(description="directory to run in")] = "",
        stdin: Annotated[str, Field(description="input of the command")] = "",
        stderr: Annotated[
            Literal["separate", "merge", "drop"],
            Field(description="separate: own block; merge: in order with stdout"),
        ] = "separate",
        keep: Keep = "head",
        shape: Shape = "auto",
        fields: Fields = "",
        mode: Mode = "raw",
        sentinel: Sentinel = SENTINEL,
    ) -> Annotated[CallToolResult, Facts]:
        """Run a command and show at most `limit` tokens of its output. If that is not all, the whole output
        is stored under a handle: use show to read more and grep to search, instead of running it again."""
        if bool(argv) == bool(shell):
            raise UsageError("give either argv or shell")
        settings = self._settings
        allowed = settings.allowed_tokens(limit)
        try:
            result = await self._until_cancelled(
                arun(
                    argv or shell_argv([shell], ["-c"], os.environ),
                    limit=allowed,
                    offset=offset,
                    timeout=timeout,
                    kill_after=KILL_AFTER_SECONDS,
                    cwd=cwd or None,
                    input=stdin or None,
                    stderr=stderr,
                    keep=keep,
                    shape=shape,
                    fields=fields,
                    mode=mode,
                    sentinel=sentinel,
                    **settings.charge_options(),
                    clean=settings.clean,
                    redact=settings.redact,
                    max_bytes=settings.max_bytes,
                )
            )
        except CommandNotFound as error:
            raise command_line_in_argv(error, argv or ()) from None
        return await asyncio.to_thread(result_of_run, result, allowed, settings)

    async def show(
        self,
        handle: Handle,
        limit: Limit = None,
        offset: Offset = 0,
        stream: Stream = "out",
        pointer: Annotated[str, Field(description="only the value at this JSON pointer: /items/3")] = "",
        keep: Keep = "head",
        shape: Shape = "auto",
        fields: Fields = "",
        mode: Mode = "raw",
        sentinel: Sentinel = SENTINEL,
    ) -> Annotated[CallToolResult, Facts]:
        """Read a stored output, or a part of it. The command does not run again."""
        settings = self._settings
        allowed = settings.allowed_tokens(limit)

        def show_stored() -> CallToolResult:
            found = show(
                handle,
                limit=allowed,
                offset=offset,
                stream=stream,
                pointer=pointer,
                keep=keep,
                shape=shape,
                fields=fields,
                mode=mode,
                sentinel=sentinel,
                **settings.charge_options(),
            )
            return result_of_show(found, allowed, settings)

        return await asyncio.to_thread(show_stored)

    async def grep(
        self,
        handle: Handle,
        pattern: Annotated[str, Field(description="a Python regular expression")],
        context: Annotated[int, Field(description="lines before and after each match")] = 0,
        limit: Limit = None,
        offset: Offset = 0,
        stream: Stream = "out",
        sentinel: Sentinel = SENTINEL,
    ) -> Annotated[CallToolResult, Facts]:
        """Show matching lines of a stored output as LINE:TOKEN:TEXT. TOKEN is an offset for show."""
        if not pattern:
            raise UsageError("pattern is empty")
        settings = self._settings
        allowed = settings.allowed_tokens(limit)

        matches = await self._until_cancelled(
            search(
                handle,
                limit=allowed,
                offset=offset,
                stream=stream,
                grep=pattern,
                context=context,
                sentinel=sentinel,
                **settings.charge_options(),
            )
        )
        return await asyncio.to_thread(result_of_show, matches, allowed, settings)

    async def budget_status(self) -> Annotated[CallToolResult, Status]:
        """Show how many tokens are left for results. This call is free."""
        session = self._settings.session
        account = await asyncio.to_thread(session.read) if session else None
        return result_of_status(account, self._settings)

    async def _until_cancelled(self, work: Coroutine[Any, Any, WorkResult]) -> WorkResult:
        """Wait for work that runs a process. The process ends with its request, or with the server."""
        running = asyncio.create_task(work)
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            # Cancel once and do not wait: the package would repeat the cancellation until the work has ended.
            running.cancel()
            raise

    async def close(self) -> None:
        """Cancel all running calls and wait until they have ended."""
        for running in self._running:
            running.cancel()
        if self._running:
            await asyncio.wait(self._running)
