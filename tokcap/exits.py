"""Exit statuses, and how a wait status is translated into one."""

from __future__ import annotations

import os

from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    # Why tokcap itself ended a command: it timed out, the window was full, tokcap was interrupted a second
    # time, or tokcap failed.
    StoppedFor: TypeAlias = Literal["", "timeout", "limit", "interrupt", "failure"]

OK = 0
# Only for subcommands: what was asked for does not exist, or the answer is no.
NO = 1
# Only for subcommands; a call that runs a command ends with 125 instead.
BAD_USAGE = 2
BUDGET_EXHAUSTED = 120
TIMED_OUT = 124
OWN_FAILURE = 125
NOT_EXECUTABLE = 126
NOT_FOUND = 127
SIGNAL_BASE = 128

# Python ignores SIGPIPE: a closed pipe is an error there, and becomes the status that SIGPIPE would give.
READER_GONE = SIGNAL_BASE + 13
INTERRUPTED = SIGNAL_BASE + 2


class Ending(Record):
    """How a command ended: its exit status as a shell reports it, and the signal that killed it."""

    status: int
    signal: int | None = None
    # Why tokcap ended the command; empty if it did not.
    stopped_for: StoppedFor = ""
    # Whether another process still had the output open when tokcap stopped reading it.
    left_open: bool = False
    # Whether nobody reads any more what a shell writes: then no answer is needed.
    unread: bool = False


def ending_of(wait_status: int) -> Ending:
    """Translate the result of `waitpid`."""
    code = os.waitstatus_to_exitcode(wait_status)
    if code < 0:
        return Ending(status=SIGNAL_BASE - code, signal=-code)
    return Ending(status=code)
