"""Exit statuses of the wrapper form, and what a wait status means in them."""

from __future__ import annotations

import os

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    # Why tokcap itself ended a command: its time was up, the window was full, tokcap was interrupted a
    # second time, or has failed.
    StoppedFor: TypeAlias = Literal["", "timeout", "limit", "interrupt", "failure"]

OK = 0
# Of subcommands only: it is not there, or the answer is no.
NO = 1
# Of subcommands only; the wrapper form has 125 for it.
BAD_USAGE = 2
BUDGET_EXHAUSTED = 120
TIMED_OUT = 124
OWN_FAILURE = 125
NOT_EXECUTABLE = 126
NOT_FOUND = 127
SIGNAL_BASE = 128

# Python ignores SIGPIPE, so a reader that went away is met as an error and told as this status.
READER_GONE = SIGNAL_BASE + 13
INTERRUPTED = SIGNAL_BASE + 2


class Ending(Record):
    """How a command ended: its exit status as a shell would tell it, and the signal that killed it."""

    status: int
    signal: int | None = None
    # Why tokcap ended it, if it did.
    stopped_for: StoppedFor = ""


def ending_of(wait_status: int) -> Ending:
    """Translate what `waitpid` returned."""
    code = os.waitstatus_to_exitcode(wait_status)
    if code < 0:
        return Ending(status=SIGNAL_BASE - code, signal=-code)
    return Ending(status=code)
