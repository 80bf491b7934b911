"""Standard output of the program we are in, taken for a while. Follows whoever has replaced `sys.stdout`."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, Any

from tokcap.core.spool import open_nameless_file
from tokcap.environment import STDOUT
from tokcap.system.descriptors import write_all

if TYPE_CHECKING:
    from mmap import mmap


class TakenOutput:
    """What is printed from now on goes to a nameless file, until it is given back.

    Where `sys.stdout` is the descriptor, the descriptor itself is taken, with all that child processes write
    to it. Where it is something else (a test's, a notebook's), only that is taken.
    """

    def __init__(self) -> None:
        self._stream: Any = sys.stdout
        self._saved: int | None = None
        self._is_taken = True
        self._begun_at = 0
        # What was printed before is not ours. First of all, for it may fail.
        self._stream.flush()
        self._file = open_nameless_file()
        if is_descriptor(self._stream):
            self._saved = os.dup(STDOUT)
            os.dup2(self._file, STDOUT)
        else:
            sys.stdout = io.TextIOWrapper(
                io.BufferedWriter(Replacement(self)),
                encoding=getattr(self._stream, "encoding", None) or "utf-8",
                errors=getattr(self._stream, "errors", None) or "surrogateescape",
                newline="",
            )
            self._replacement = sys.stdout

    @property
    def is_taken(self) -> bool:
        return self._is_taken

    def give_back(self) -> None:
        """Print as before. What was taken stays here."""
        if not self._is_taken:
            return
        try:
            flush(self._stream if self._saved is not None else self._replacement)
        finally:
            self._is_taken = False
            if self._saved is not None:
                os.dup2(self._saved, STDOUT)
                os.close(self._saved)
            # The command may have put in another one, which is not ours to remove.
            elif sys.stdout is self._replacement:
                sys.stdout = self._stream

    def pass_on(self) -> None:
        """Give back, and let what was taken come out as it is."""
        self.give_back()
        self.write(bytes(self.data()))

    def write(self, data: bytes) -> None:
        """Write where the program would have written."""
        write_to(self._stream, data)

    @property
    def size(self) -> int:
        return os.fstat(self._file).st_size

    def begin_anew(self) -> None:
        """An inner command begins. What was printed before is not its own."""
        flush(sys.stdout)
        self._begun_at = self.size

    @property
    def has_nothing_new(self) -> bool:
        """Whether the innermost command has printed nothing."""
        return self.size == self._begun_at

    def add(self, data: bytes) -> None:
        """Take something that was not printed as if it had been."""
        write_all(self._file, data)

    def receive(self, data: bytes) -> None:
        """Something was printed to the replacement, be it by somebody who kept it for too long."""
        if self._is_taken:
            self.add(data)
        else:
            self.write(data)

    def data(self) -> bytes | mmap:
        """All that was taken, to be sliced in place. A child that still writes does not disturb it."""
        if not self.size:
            return b""
        from mmap import ACCESS_READ, mmap

        return mmap(self._file, 0, access=ACCESS_READ)

    def close(self) -> None:
        os.close(self._file)


class Replacement(io.RawIOBase):
    """Stands below `sys.stdout` while the output is taken."""

    def __init__(self, taken: TakenOutput) -> None:
        self._taken = taken

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._taken.receive(bytes(data))
        return len(data)


def is_descriptor(stream: Any) -> bool:
    """Whether a stream writes to standard output itself."""
    try:
        return bool(stream.fileno() == STDOUT)
    except (AttributeError, OSError, ValueError):
        return False


def flush(stream: Any) -> bool:
    """Let go what a stream holds; False if the command has closed it, which has let go all of it."""
    try:
        stream.flush()
    except ValueError:
        return False
    return True


def write_to(stream: Any, data: bytes) -> None:
    """Write bytes to a stream of text, below what it holds already."""
    if not flush(stream):
        # The descriptor outlives the stream. To anything else that is closed, nobody can write.
        if stream is sys.__stdout__:
            write_all(STDOUT, data)
        return
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        stream.write(data.decode("utf-8", "replace"))
    else:
        buffer.write(data)
    stream.flush()
