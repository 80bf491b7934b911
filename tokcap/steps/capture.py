"""Read a source to its end and write its bytes to sinks, which keep them or pass them on.

The bytes are not interpreted here.
"""

from __future__ import annotations

from tokcap.core.notice import Notice
from tokcap.core.spool import TAIL_BYTES
from tokcap.errors import ReaderGone, StreamError
from tokcap.exits import OK
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokcap.core.payload import Filter, Sink, Source
    from tokcap.core.request import Stream
    from tokcap.core.spool import Spool
    from tokcap.exits import Ending


class Captured(Record):
    """How the source ended, and what went wrong until then."""

    ending: Ending | None
    # Why its output could not be passed on.
    failure: StreamError | ReaderGone | None = None
    # Why it could not be read to its end, or why its end is unknown. What came before was captured.
    broken: StreamError | None = None

    @property
    def status(self) -> int:
        """The exit status of the command, or of a source that could not be read; 0 without a command."""
        if self.broken:
            return self.broken.exit_status
        return self.ending.status if self.ending else OK

    def notices(self, *, has_error: bool) -> tuple[Notice, ...]:
        """Return why the output may be incomplete. `has_error`: the response says how the command failed."""
        if self.ending is None:
            return ()
        if self.ending.stopped_for == "limit":
            message = "the command was stopped because the window is full (--kill-on-limit)"
            return (Notice("COMMAND_STOPPED", message, of_the_cut=True),)
        if self.ending.stopped_for == "timeout" and not has_error:
            return (Notice("TIMED_OUT", "stopped by --timeout; the output may be incomplete"),)
        if self.ending.left_open and not self.ending.stopped_for:
            message = "a process in the background still has the output open; what it writes later is lost"
            return (Notice("OUTPUT_OPEN", message),)
        return ()


def capture(source: Source, sinks: Mapping[Stream, Sink]) -> Captured:
    """Read a source to its end. When a sink fails, its stream is closed, as it would be without tokcap."""
    failure: StreamError | ReaderGone | None = None
    broken: StreamError | None = None
    blocks = source.blocks()
    has_read = False
    while True:
        try:
            stream, block = next(blocks)
        except StopIteration:
            break
        except StreamError as error:
            if not has_read:
                raise
            broken = error
            break
        has_read = True
        try:
            sinks[stream].write(block)
        except (ReaderGone, StreamError) as error:
            failure = error
            source.stop(stream)
    ending: Ending | None = None
    try:
        ending = source.end()
    except StreamError as error:
        broken = broken or error
    for sink in sinks.values():
        try:
            sink.finish()
        except (ReaderGone, StreamError) as error:
            failure = failure or error
    return Captured(ending, failure, broken)


class Passing:
    """Passes everything on at once, remembers the end of it, and keeps all of it if it has a spool."""

    is_out = True

    def __init__(self, write: Callable[[bytes], None], spool: Spool | None = None) -> None:
        self._write = write
        self.spool = spool
        self.passed = 0
        self.tail = b""

    def write(self, block: bytes) -> None:
        if not block:
            return
        if self.spool:
            self.spool.write(block)
        self.passed += len(block)
        self.tail = (self.tail + block)[-TAIL_BYTES:]
        self._write(block)

    def finish(self) -> None:
        """Finish the spool. Nothing else was held back."""
        if self.spool:
            self.spool.finish()

    def close(self) -> None:
        if self.spool:
            self.spool.close()


class Filtered:
    """Passes everything through a filter to another sink. The filter may hold some bytes back for a while."""

    def __init__(self, step: Filter, sink: Sink) -> None:
        self._step = step
        self._sink = sink

    def write(self, block: bytes) -> None:
        passed = self._step.feed(block) if block else b""
        # An empty block says that the command waits for input, or runs long.
        if passed or not block:
            self._sink.write(passed or block)

    def finish(self) -> None:
        if rest := self._step.flush():
            self._sink.write(rest)
        self._sink.finish()
