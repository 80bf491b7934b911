"""`arun`: `run` for an event loop. A thread of its own looks after the command, which ends with its task."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from tokcap.api.calls import perform, world_of
from tokcap.source.command import Command
from tokcap.steps.opening import open_source

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Unpack

    from tokcap.api.keywords import RunOptions
    from tokcap.api.results import Result
    from tokcap.core.payload import Source
    from tokcap.core.request import Request, Stream
    from tokcap.environment import Environment
    from tokcap.exits import Ending


async def arun(
    argv: Sequence[str | os.PathLike[str]],
    *,
    limit: int | None = None,
    input: str | bytes | None = None,  # noqa: A002  # as `run` has it
    stdin: int | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    **options: Unpack[RunOptions],
) -> Result:
    """`run`, awaited. Many may run at once.

    >>> import asyncio
    >>> from tokcap import arun
    >>> asyncio.run(arun(["echo", "hello"], limit=10)).stdout
    'hello\\n'

    When its task is cancelled, the command and all that it started are told to end, and killed after
    `kill_after`; the task is cancelled when they have ended. Nothing is stored or charged then.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()
    stoppable = Stoppable()
    world = world_of(input, stdin, cwd, env)

    def work() -> None:
        try:
            result = perform(argv, {**options, "limit": limit}, world, stoppable.open_source)
        except BaseException as error:
            tell(future.set_exception, error)
        else:
            tell(future.set_result, result)

    def tell(settle: Callable[..., None], what: object) -> None:
        try:
            loop.call_soon_threadsafe(settle, what)
        except RuntimeError:
            # The loop was closed without waiting for its tasks.
            pass

    # Not the loop's own executor: it has few threads, and commands may take long.
    threading.Thread(target=work, name="tokcap.arun", daemon=True).start()
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError as error:
            cancelled = error
            stoppable.interrupt()
    if cancelled is not None:
        # Whatever became of it, somebody has looked.
        future.exception()
        raise cancelled
    return future.result()


class Interrupted(Exception):
    """The command was ended because nobody waits for it."""


class Stoppable:
    """A command as a source that another thread can end, be it not started yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._source: Source | None = None
        self._is_interrupted = False

    def open_source(self, request: Request, env: Environment) -> Source:
        with self._lock:
            if self._is_interrupted:
                raise Interrupted
            self._source = open_source(request, env)
        return self

    def interrupt(self) -> None:
        with self._lock:
            self._is_interrupted = True
            if isinstance(self._source, Command):
                self._source.interrupt()

    @property
    def _command(self) -> Source:
        assert self._source is not None
        return self._source

    def blocks(self) -> Iterator[tuple[Stream, bytes]]:
        return self._command.blocks()

    def end(self) -> Ending | None:
        try:
            return self._command.end()
        finally:
            if self._is_interrupted:
                # There will be no answer, so there is nothing to store or to charge.
                raise Interrupted

    def stop(self, stream: Stream) -> None:
        self._command.stop(stream)

    def limit_reached(self) -> None:
        self._command.limit_reached()

    def close(self) -> None:
        self._command.close()
