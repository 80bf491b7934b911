"""Capture the standard output of the running program for a while, also if `sys.stdout` was replaced."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from tokcap.core.payload import open_nameless_file
from tokcap.environment import STDOUT
from tokcap.system.descriptors import write_all

if TYPE_CHECKING:
    from mmap import mmap


class StdoutCapture:
    """Redirects standard output to an unnamed file, from its creation until `stop`.

    If `sys.stdout` writes to descriptor 1, the descriptor is redirected. This includes what child processes
    write. If `sys.stdout` is another object (in tests or notebooks), only this object is replaced.
    """

    def __init__(self) -> None:
        self._stream: Any = sys.stdout
        self._saved: int | None = None
        self._is_active = True
        self._inner_start_bytes = 0
        # Text printed before the capture does not belong to it. Flush first, because this can fail.
        self._stream.flush()
        self._file = open_nameless_file()
        if is_descriptor(self._stream):
            self._saved = os.dup(STDOUT)
            os.dup2(self._file, STDOUT)
        else:
            # `close` closes it.
            sys.stdout = self._replacement = open(  # noqa: SIM115
                os.dup(self._file),
                "w",
                encoding=getattr(self._stream, "encoding", None) or "utf-8",
                errors=getattr(self._stream, "errors", None) or "surrogateescape",
                newline="",
            )

    @property
    def is_active(self) -> bool:
        return self._is_active

    def stop(self) -> None:
        """Restore standard output. The captured bytes stay available."""
        if not self._is_active:
            return
        try:
            flush(self._stream if self._saved is not None else self._replacement)
        finally:
            self._is_active = False
            if self._saved is not None:
                os.dup2(self._saved, STDOUT)
                os.close(self._saved)
            # The command may have replaced `sys.stdout` itself. Then do not change it.
            elif sys.stdout is self._replacement:
                sys.stdout = self._stream

    def release_unchanged(self) -> None:
        """Stop, and write the captured bytes to standard output unchanged."""
        self.stop()
        self.write(bytes(self.data()))

    def write(self, data: bytes) -> None:
        """Write to the standard output of the program, bypassing the capture."""
        write_to(self._stream, data)

    @property
    def size(self) -> int:
        return os.fstat(self._file).st_size

    def begin_inner_command(self) -> None:
        """Remember where the output of the inner command starts."""
        flush(sys.stdout)
        self._inner_start_bytes = self.size

    @property
    def has_nothing_new(self) -> bool:
        """Whether the innermost command has printed nothing."""
        return self.size == self._inner_start_bytes

    def add(self, data: bytes) -> None:
        """Add bytes to the captured output."""
        write_all(self._file, data)

    def data(self) -> bytes | mmap:
        """Return the captured bytes, mapped into memory. Later writes of child processes are not included."""
        if not self.size:
            return b""
        from mmap import ACCESS_READ, mmap

        return mmap(self._file, 0, access=ACCESS_READ)

    def close(self) -> None:
        try:
            if self._saved is None:
                self._replacement.close()
        finally:
            os.close(self._file)


def is_descriptor(stream: Any) -> bool:
    """Return whether a stream writes to descriptor 1."""
    try:
        return bool(stream.fileno() == STDOUT)
    except (AttributeError, OSError, ValueError):
        return False


def flush(stream: Any) -> bool:
    """Flush a stream. Return False if it is closed; closing has flushed it."""
    try:
        stream.flush()
    except ValueError:
        return False
    return True


def write_to(stream: Any, data: bytes) -> None:
    """Write bytes to a text stream, after the text that it has buffered."""
    if not flush(stream):
        # The stream is closed. Descriptor 1 is still open; for any other stream there is nowhere to write.
        if stream is sys.__stdout__:
            os.write(STDOUT, data)
        return
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        stream.write(data.decode("utf-8", "replace"))
    else:
        buffer.write(data)
    stream.flush()
