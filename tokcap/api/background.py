"""`start` runs a command in the background. `Run.wait` returns what it has written since the last call."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from tokcap import pipeline
from tokcap.api.calls import command_environment, run_command
from tokcap.api.captured_environment import CapturedEnvironment, Interrupted, StoppableCommand
from tokcap.api.keywords import checked_argv, checked_values
from tokcap.api.results import Capped
from tokcap.cli.arguments import completed, wait_request
from tokcap.environment import Environment
from tokcap.errors import NotFound, StreamError
from tokcap.store.running import reserve_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Unpack

    from tokcap.api.keywords import RunOptions
    from tokcap.api.results import Result


def start(
    argv: Sequence[str | os.PathLike[str]],
    *,
    limit: int | None = None,
    input: str | bytes | None = None,  # noqa: A002  # the same name as in `run`
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    **options: Unpack[RunOptions],
) -> Run:
    r"""Start a command in the background, with the options of `run`; its whole output is stored.

    >>> from tokcap import start
    >>> run = start(["sh", "-c", "echo listening; sleep 1; echo bye; exit 3"], limit=500)
    >>> run.wait(until="listen").text
    'listening\n[RUNNING]\n'
    >>> run.wait().text, run.result().status
    ('bye\n[EXITED 3]\n', 3)

    Other processes can wait too: `tokcap wait NAME`, with `run.name`. A command that cannot be started
    raises its error in `result`.
    """
    checked_argv(argv)
    chosen = {"spill": "always", **options, "limit": limit}
    checked_values(chosen, "run")
    return Run(argv, chosen, command_environment(input, None, cwd, env))


class Run:
    """A command in the background of this process. When the process ends, the command gets a broken pipe."""

    def __init__(
        self,
        argv: Sequence[str | os.PathLike[str]],
        options: dict[str, Any],
        environment: CapturedEnvironment,
    ) -> None:
        announced = reserve_in(Environment(os.environ))
        # What `tokcap wait` calls it.
        self.name = announced.running.name
        self._command = StoppableCommand(forgets=False)
        self._result: Result | None = None
        self._error: BaseException | None = None

        def work() -> None:
            try:
                self._result = run_command(
                    argv, options, environment, self._command.open_source, running=self.name
                )
            except Interrupted:
                self._error = StreamError("the command was stopped before it began")
                announced.remove()
            except BaseException as error:
                self._error = error
                announced.remove()

        self._thread = threading.Thread(target=work, name="tokcap.start", daemon=True)
        self._thread.start()

    def wait(self, *, until: str = "", timeout: float | None = None, limit: int | None = None) -> Capped[str]:
        """Wait until a line matches, the command ends or the time is up; and return what is new.

        `meta.exit_code` is the status of the command if it has ended, 124 if the time is up, else 0. The last
        line of the text says how the command stands.
        """
        try:
            return wait_for(self.name, str(id(self)), until=until, timeout=timeout, limit=limit)
        except NotFound:
            # It could not be started: raise the reason.
            self.result()
            raise

    def result(self) -> Result:
        """Wait for the end, and return what `run` would have returned."""
        self._thread.join()
        if self._error:
            raise self._error
        assert self._result
        return self._result

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end, at most this many seconds."""
        self._thread.join(timeout)

    def stop(self) -> None:
        """End the command and its child processes: SIGTERM, and SIGKILL after `kill_after`."""
        self._command.interrupt()


def wait_for(
    name: str,
    reader: str,
    *,
    until: str = "",
    timeout: float | None = None,
    limit: int | None = None,
    gave_up: Callable[[], bool] | None = None,
    **options: Any,
) -> Capped[str]:
    """Wait for an output by its name; `reader` names the caller, whose place is kept."""
    values = completed(checked_values({**options, "limit": limit}, "show"), "show", {})
    own = {"until": until, "timeout": timeout, "reader": f"{os.getpid()}-{reader}", "gave_up": gave_up}
    request = wait_request(name, values, **own)
    with CapturedEnvironment() as environment:
        captured = environment.collected(pipeline.wait(request, environment.env), request)
    response, shown = captured.response, captured.stdout_data
    return Capped(shown, response.meta, response.notices, shown.decode("utf-8", "replace"), captured.words)
