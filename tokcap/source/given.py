"""Bytes that are there without a command: standard input, and bytes of the caller."""

from __future__ import annotations

import os
import stat

from tokcap.core.payload import RUNS_ON
from tokcap.errors import StreamError
from tokcap.exits import TIMED_OUT, Ending
from tokcap.startup.record import TYPE_CHECKING
from tokcap.system.descriptors import PIPE_BYTES, DescriptorReader, is_reader_gone, wait_until_ready

if TYPE_CHECKING:
    from collections.abc import Iterator
    from mmap import mmap

    from tokcap.core.request import Stream
    from tokcap.environment import Environment


# Read a file in blocks of this size: a spool writes the second and all later ones to its file without joining
# them.
FILE_BLOCK_BYTES = 1 << 20
# From this block on, check for each whether the answer still has a reader. Most inputs are shorter. A large
# block counts as the blocks of a pipe that it would be.
FIRST_CHECKED_BLOCK = 16
# An input that lasts longer gets a name.
NAMED_AFTER_SECONDS = 0.3
# On a terminal somebody watches: after such a pause, show what there is.
PAUSE_SECONDS = 0.2


class StandardInput:
    """Reads until the end of the input or until the timeout. There is no exit status."""

    def __init__(self, env: Environment, timeout_seconds: float | None = None) -> None:
        if env.stdin in env.closed:
            raise StreamError("cannot read standard input: it is closed; name a command, or pipe into tokcap")
        self._descriptor = env.stdin
        self._source = DescriptorReader(env.stdin, block_bytes(env.stdin))
        self._stopped = False
        self._clock = env.clock
        self._deadline = None if timeout_seconds is None else env.clock() + timeout_seconds
        self._timed_out = False
        # Where the answer is written to; None if this is not a descriptor of this program.
        self._reader = env.stdout if env.is_program else None
        self._is_watched = env.is_terminal(env.stdout)

    def blocks(self) -> Iterator[tuple[Stream, bytes]]:
        number, named_at = 0, self._clock() + NAMED_AFTER_SECONDS
        while not self._stopped and self._wait_for_more() and (block := self._read()):
            if number and named_at and self._clock() > named_at:
                yield "out", RUNS_ON
                named_at = 0.0
            yield "out", block
            number += -(-len(block) // PIPE_BYTES)
            if self._pauses():
                yield "out", b""
            if number >= FIRST_CHECKED_BLOCK and self._reader is not None and is_reader_gone(self._reader):
                return

    def _wait_for_more(self) -> bool:
        """Return whether there is something to read before the deadline."""
        if self._deadline is not None:
            left = self._deadline - self._clock()
            self._timed_out = left <= 0 or not wait_until_ready(self._descriptor, left)
        return not self._timed_out

    def _pauses(self) -> bool:
        """Return whether somebody watches, and nothing arrives for a while."""
        return self._is_watched and not wait_until_ready(self._descriptor, PAUSE_SECONDS)

    def stop(self, stream: Stream) -> None:
        self._stopped = self._stopped or stream == "out"

    def limit_reached(self) -> None:
        """Stop reading. The writer notices when tokcap ends."""
        self._stopped = True

    def _read(self) -> bytes:
        while True:
            try:
                return self._source.read()
            except BlockingIOError:
                wait_until_ready(self._descriptor)
            except OSError as error:
                raise StreamError(f"cannot read standard input: {error.strerror}") from None

    def end(self) -> Ending | None:
        return Ending(TIMED_OUT, stopped_for="timeout") if self._timed_out else None

    def close(self) -> None:
        """Do nothing: standard input stays open."""


def block_bytes(descriptor: int) -> int:
    """Return how much to read at a time: more of a large file."""
    try:
        found = os.fstat(descriptor)
    except OSError:
        # Reading reports it.
        return PIPE_BYTES
    size = found.st_size if stat.S_ISREG(found.st_mode) else 0
    return min(max(size, PIPE_BYTES), FILE_BLOCK_BYTES)


BLOCK_BYTES = 1 << 18


class GivenBytes:
    """Yields the bytes in blocks. No command runs, so there is no exit status."""

    def __init__(self, data: bytes | mmap) -> None:
        self._data = data
        self._stopped = False

    def blocks(self) -> Iterator[tuple[Stream, bytes]]:
        for start in range(0, len(self._data), BLOCK_BYTES):
            if self._stopped:
                return
            yield "out", self._data[start : start + BLOCK_BYTES]

    def stop(self, stream: Stream) -> None:
        self._stopped = self._stopped or stream == "out"

    def limit_reached(self) -> None:
        self._stopped = True

    def end(self) -> None:
        """Return None: no command ran."""

    def close(self) -> None:
        """Do nothing: nothing was opened."""
