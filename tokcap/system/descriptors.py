"""Read from, write to and wait for file descriptors. No other module loops over `os.write`."""

from __future__ import annotations

import os

from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


# The size of a pipe, and of a read. To read more at a time helps only if the pipe is larger too.
PIPE_BYTES = 1 << 16
# After this many bytes a pipe is enlarged, if the system allows it: both sides wait less then. A user may
# have 64 MiB in large pipes; beyond that, all new pipes of the user are small.
ENLARGE_AFTER_BYTES = 1 << 20
LARGE_PIPE_BYTES = 1 << 20
# The width of a terminal that does not tell it.
USUAL_COLUMNS = 80


def write_all(descriptor: int, data: bytes | bytearray | memoryview) -> None:
    """Write all of `data`, or raise `OSError`. If a non-blocking descriptor is full, wait for it."""
    left = memoryview(data)
    while left:
        try:
            left = left[os.write(descriptor, left) :]
        except BlockingIOError:
            wait_until_ready(descriptor, to_write=True)


def wait_until_ready(descriptor: int, seconds: float | None = None, *, to_write: bool = False) -> bool:
    """Wait until a descriptor can be read from or written to, or has ended. Return False after `seconds`."""
    import select

    poll = select.poll()
    poll.register(descriptor, select.POLLOUT if to_write else select.POLLIN)
    return bool(poll.poll(None if seconds is None else seconds * 1000))


def is_reader_gone(descriptor: int) -> bool:
    """Return whether a pipe, a socket or a terminal has no reader any more."""
    import select

    poll = select.poll()
    poll.register(descriptor, 0)
    return bool(poll.poll(0))


def wait_for_any(descriptors: Sequence[int]) -> set[int]:
    """Wait until a descriptor has data or has ended. Return those that are ready."""
    import select

    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return {descriptor for descriptor, _ in poll.poll()}


def columns_of(terminal: int) -> int:
    """Return the width of a terminal."""
    try:
        return os.get_terminal_size(terminal).columns or USUAL_COLUMNS
    except OSError:
        return USUAL_COLUMNS


class DescriptorReader:
    """Reads from a descriptor. If much comes through a pipe, it is enlarged and read in larger blocks."""

    def __init__(self, descriptor: int, block_bytes: int = PIPE_BYTES) -> None:
        self._descriptor = descriptor
        self._block_bytes = block_bytes
        # Only a pipe that is read in small blocks is enlarged.
        self._bytes_until_enlarged = ENLARGE_AFTER_BYTES if block_bytes == PIPE_BYTES else 0

    def read(self) -> bytes:
        """Read some bytes; none at the end."""
        block = os.read(self._descriptor, self._block_bytes)
        if self._bytes_until_enlarged > 0:
            self._bytes_until_enlarged -= len(block)
            if self._bytes_until_enlarged <= 0 and enlarge_pipe(self._descriptor):
                self._block_bytes = LARGE_PIPE_BYTES
        return block


def enlarge_pipe(descriptor: int) -> bool:
    """Make a pipe large, if the system allows it; return whether that is so."""
    try:
        from fcntl import F_GETPIPE_SZ, F_SETPIPE_SZ, fcntl

        if fcntl(descriptor, F_GETPIPE_SZ) < LARGE_PIPE_BYTES:
            fcntl(descriptor, F_SETPIPE_SZ, LARGE_PIPE_BYTES)
    except (ImportError, OSError):
        # It is not a pipe, or the system has no such call, or the user has too many large pipes.
        return False
    return True
