"""`arun` is `run` for an event loop. Every call has its own thread. Cancelling its task stops the command."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from tokcap.api.calls import command_environment, run_command
from tokcap.api.captured_environment import StoppableCommand

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from typing import Unpack

    from tokcap.api.keywords import RunOptions
    from tokcap.api.results import Result


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
