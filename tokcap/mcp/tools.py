"""The tools: the functions of the library, as an agent calls them, within what the server allows.

Every argument costs the agent's context on every turn, so there are few, in few words.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from mcp.types import CallToolResult  # noqa: TC002  # the package reads the annotations
from pydantic import Field

from tokcap.api.asynchronous import arun
from tokcap.api.calls import show
from tokcap.cli.options import BY_KEY
from tokcap.errors import UsageError
from tokcap.mcp.answers import Facts, Status, of_account, of_run, of_show
from tokcap.mcp.searching import search
from tokcap.system.shell import shell_argv

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from tokcap.mcp.terms import Terms

# A client kills a server two seconds after it has let go of it: commands have to have ended by then.
KILL_AFTER_SECONDS = 1.0
SENTINEL = str(BY_KEY["sentinel"].default)

Limit = Annotated[int | None, Field(description="most tokens of the answer; never above the server's limit")]
Offset = Annotated[int, Field(description="token to begin at: next_offset of the window before")]
Handle = Annotated[str, Field(description="of an answer; @last is the newest")]
Stream = Annotated[Literal["out", "err"], Field(description="which stream of the command")]
Keep = Annotated[Literal["head", "tail", "ends"], Field(description="which part of a large output to show")]
Shape = Annotated[
    Literal["auto", "text", "json", "jsonl", "csv", "tsv"], Field(description="what the output is")
]
Fields = Annotated[str, Field(description="only these keys or columns: a,b.c")]
Mode = Annotated[Literal["raw", "table", "summary", "handle_only"], Field(description="how much to show")]
Sentinel = Annotated[str, Field(description="the mark at a cut; empty: none, and windows join to the output")]

Found = TypeVar("Found")


class Tools:
    """What can be called, and what runs at the moment."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._running: set[asyncio.Task[Any]] = set()

    async def run(
        self,
        argv: Annotated[list[str] | None, Field(description="the command, word by word")] = None,
        shell: Annotated[str, Field(description="or a line for the shell")] = "",
        limit: Limit = None,
        offset: Offset = 0,
        timeout: Annotated[
            float | str | None, Field(description="end the command after this time: 90, 1.5m, 500ms")
        ] = None,
        cwd: Annotated[str, Field(description="directory to run in")] = "",
        stdin: Annotated[str, Field(description="what the command reads")] = "",
        stderr: Annotated[
            Literal["separate", "merge", "drop"], Field(description="stderr: a block of its own, or in order")
        ] = "separate",
        keep: Keep = "head",
        shape: Shape = "auto",
        fields: Fields = "",
        mode: Mode = "raw",
        sentinel: Sentinel = SENTINEL,
    ) -> Annotated[CallToolResult, Facts]:
        """Run a command and show no more tokens of its output than the limit. What is left out is stored
        under a handle: read on with show, search with grep, instead of running it again."""
        if bool(argv) == bool(shell):
            raise UsageError("give argv, or shell, and not both")
        terms = self._terms
        allowed = terms.limit(limit)
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
                session=terms.session_name,
                tokenizer=terms.tokenizer,
                clean=terms.clean,
                redact=terms.redact,
                max_bytes=terms.max_bytes,
            )
        )
        return await asyncio.to_thread(of_run, result, allowed, terms)

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
        terms = self._terms
        allowed = terms.limit(limit)

        def shown() -> CallToolResult:
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
                session=terms.session_name,
                tokenizer=terms.tokenizer,
            )
            return of_show(found, allowed, terms)

        return await asyncio.to_thread(shown)

    async def grep(
        self,
        handle: Handle,
        pattern: Annotated[str, Field(description="a regular expression of Python")],
        context: Annotated[int, Field(description="lines before and after each match")] = 0,
        limit: Limit = None,
        offset: Offset = 0,
        stream: Stream = "out",
        sentinel: Sentinel = SENTINEL,
    ) -> Annotated[CallToolResult, Facts]:
        """Matching lines of a stored output, as LINE:TOKEN:TEXT; show goes on from TOKEN."""
        if not pattern:
            raise UsageError("pattern is empty: name what to look for")
        terms = self._terms
        allowed = terms.limit(limit)

        matches = await self._until_cancelled(
            search(
                handle,
                limit=allowed,
                offset=offset,
                stream=stream,
                grep=pattern,
                context=context,
                sentinel=sentinel,
                session=terms.session_name,
                tokenizer=terms.tokenizer,
            )
        )
        return await asyncio.to_thread(of_show, matches, allowed, terms)

    async def budget_status(self) -> Annotated[CallToolResult, Status]:
        """How many tokens answers may still take. Costs nothing of them."""
        session = self._terms.session
        account = await asyncio.to_thread(session.read) if session else None
        return of_account(account, self._terms)

    async def _until_cancelled(self, work: Coroutine[Any, Any, Found]) -> Found:
        """What comes of work that has a process; it ends with its request, or with the server."""
        running = asyncio.create_task(work)
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            # Told once, and not waited for: the protocol would repeat its cancellation until it has ended.
            running.cancel()
            raise

    async def close(self) -> None:
        """End what still runs, and wait until it has."""
        for running in self._running:
            running.cancel()
        if self._running:
            await asyncio.wait(self._running)
