"""`arun` is `run` for an event loop. Every call has its own thread. Cancelling its task stops the command."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from tokcap.api.calls import command_environment, run_command
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
    input: str | bytes | None = None,  # noqa: A002  # the same name as in `run`
    stdin: int | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    **options: Unpack[RunOptions],
) -> Result:
    """Run a command like `run`, without blocking the event loop. Many calls can run at once.

    >>> import asyncio
    >>> from tokcap import arun
    >>> asyncio.run(arun(["echo", "hello"], limit=10)).stdout
    'hello\\n'

    If the task is cancelled, the command and its child processes get SIGTERM, and SIGKILL after `kill_after`.
    The task ends when they have ended. Nothing is stored or charged in this case.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()
    command = StoppableCommand()
    environment = command_environment(input, stdin, cwd, env)

    def work() -> None:
        try:
            result = run_command(argv, {**options, "limit": limit}, environment, command.open_source)
        except BaseException as error:
            settle(future.set_exception, error)
        else:
            settle(future.set_result, result)

    def settle(set_outcome: Callable[..., None], outcome: object) -> None:
        try:
            loop.call_soon_threadsafe(set_outcome, outcome)
        except RuntimeError:
            # The loop was closed before its tasks had finished, so nothing waits for the outcome.
            pass

    # The loop's own executor has few threads, and commands can run for a long time.
    threading.Thread(target=work, name="tokcap.arun", daemon=True).start()
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError as error:
            cancelled = error
            command.interrupt()
    if cancelled is not None:
        # Retrieve the exception, or asyncio logs that it was never retrieved.
        future.exception()
        raise cancelled
    return future.result()


class Interrupted(Exception):
    """The command was stopped because its task was cancelled."""


class StoppableCommand:
    """A source that wraps the command, so that another thread can stop it, even before it has started."""

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
                # Leave the pipeline here, before it stores or charges anything.
                raise Interrupted

    def stop(self, stream: Stream) -> None:
        self._command.stop(stream)

    def limit_reached(self) -> None:
        self._command.limit_reached()

    def close(self) -> None:
        self._command.close()
