"""Ask real programs what they find: each is started as its user starts it, and answers in lines.

Start-up files can do anything: print, wait for input, start daemons, replace the shell. So every program gets
no terminal and no input, its output goes to a file, and it is stopped when the time is up.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO

# Start-up files of some users take seconds.
PATIENCE_SECONDS = 10.0
MAX_ANSWER_BYTES = 1 << 20
# Start-up files may print before and after the answer.
BEGIN, END = "<<<tokcap", "tokcap>>>"
# Set for the programs that are asked: one whose start-up file calls `tokcap doctor` must not ask again.
ASKING = "_TOKCAP_ASKING"


class Question(Record):
    """A call that prints its answer between `BEGIN` and `END`."""

    argv: Sequence[str]
    variables: Mapping[str, str]


class Spoken(Record):
    """What a program printed between `BEGIN` and `END`, or why it printed nothing."""

    lines: tuple[str, ...] = ()
    failure: str = ""


def ask_all(questions: Sequence[Question], patience_seconds: float | None = None) -> list[Spoken]:
    """Ask several programs at the same time, and return their answers in order."""
    until = time.monotonic() + (PATIENCE_SECONDS if patience_seconds is None else patience_seconds)
    running = [Asked(question) for question in questions]
    return [asked.answer(until) for asked in running]


class Asked:
    """One program that was started and has not answered yet."""

    def __init__(self, question: Question) -> None:
        # Not a pipe: a daemon that a start-up file has started would keep it open.
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # `answer` closes it
        self._process: subprocess.Popen[bytes] | None = None
        self._failure = ""
        try:
            self._process = subprocess.Popen(
                question.argv,
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.DEVNULL,
                env={**question.variables, ASKING: "1"},
                # Otherwise an interactive shell would take the terminal from us.
                start_new_session=True,
            )
        except OSError as error:
            self._failure = error.strerror or str(error)

    def answer(self, until: float) -> Spoken:
        """Wait for the answer, but not beyond `until`."""
        with self._output:
            if self._process is None:
                return Spoken(failure=self._failure)
            try:
                self._process.wait(max(until - time.monotonic(), 0.01))
            except subprocess.TimeoutExpired:
                self._stop()
                return Spoken(failure="it did not answer in time")
            self._output.seek(0)
            printed = self._output.read(MAX_ANSWER_BYTES).decode("utf-8", "surrogateescape")
        _, begun, rest = printed.rpartition(BEGIN + "\n")
        spoken, ended, _ = rest.partition(END)
        if not begun or not ended:
            return Spoken(failure="its start-up files end it before it can answer")
        return Spoken(tuple(spoken.splitlines()))

    def _stop(self) -> None:
        assert self._process is not None
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except OSError:
            # It has ended in the meantime.
            pass
        self._process.wait()
