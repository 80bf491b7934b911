"""Read a source to its end, and hold what an answer is made from: the streams of a run or of a stored output.

Bytes go to sinks, which keep them or pass them on. They are not interpreted here.
"""

from __future__ import annotations

from tokcap.core.payload import TAIL_BYTES
from tokcap.core.request import AUTO
from tokcap.core.response import Failure, Notice, failure_of
from tokcap.errors import ReaderGone, StreamError, TokcapError
from tokcap.exits import OK
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokcap.core.payload import Filter, Payload, Sink, Source, Spool
    from tokcap.core.request import Stream
    from tokcap.core.response import Meta
    from tokcap.exits import Ending
    from tokcap.tokens.base import PayloadIndex
    from tokcap.tokens.index import Checkpoints


class Captured(Record):
    """How the source ended, and what went wrong until then."""

    ending: Ending | None
    # Why its output could not be passed on.
    failure: StreamError | ReaderGone | None = None
    # Why it could not be read to its end, or why its end is unknown. What came before was captured.
    broken: TokcapError | None = None

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
        if self.ending.left_open and not self.ending.stopped_for and self.ending.signal is None:
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
    words = b""

    def __init__(self, write: Callable[[bytes], None], spool: Spool | None = None) -> None:
        self._write = write
        self.spool = spool
        self.passed = 0
        self.tail = b""

    def write(self, block: bytes) -> None:
        if self.spool:
            self.spool.write(block)
        if not block:
            return
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


class Knowledge(Record):
    """What earlier calls found out about `out`."""

    # Where its tokens are, as far as they were counted.
    checkpoints: Checkpoints | None = None
    shape: str = AUTO
    total_count: int | None = None


NOTHING_KNOWN = Knowledge()


class Passed(Record):
    """What was already written when the answer is made. The answer starts with it."""

    # Bytes of each stream.
    out: int = 0
    err: int = 0
    # The bytes of both in the order in which they were written; empty unless both have some.
    together: bytes = b""
    # A line of tokcap's own after those of stdout; it is no part of the answer, but is read with it.
    words: bytes = b""

    def with_words(self, out: bytes) -> bytes:
        """Return stdout as its reader gets it."""
        return out[: self.out] + self.words + out[self.out :]

    def followed_by(self, out: bytes, err: bytes) -> bytes:
        """Return all bytes in the order in which they are written, if these are the whole streams."""
        before = self.together or out[: self.out] or err[: self.err]
        return before + out[self.out :] + err[self.err :]


NOTHING_PASSED = Passed()


class Input(Record):
    """The streams that an answer is made from. As it is, a stored output."""

    out: Payload
    # None if stderr is not part of the answer: it was passed on as it came, or there is none.
    err: Payload | None = None
    # stderr for a summary, whether it is part of the answer or not.
    err_to_summarize: Payload | None = None
    # How the command ended; None if there was no command, or it is not known.
    ending: Ending | None = None
    known: Knowledge = NOTHING_KNOWN
    notices: tuple[Notice, ...] = ()
    passed: Passed = NOTHING_PASSED
    # Whether `out` was made from a stream: a value in it, or the lines that match.
    is_derived: bool = False
    # The indexes of whole streams that were made before.
    counted: Mapping[Stream, PayloadIndex] = {}

    @property
    def size(self) -> int:
        return self.out.size + (self.err.size if self.err else 0)

    def whole(self) -> tuple[bytes, bytes]:
        """Return both streams. For short ones only."""
        err = self.err.read(0, self.err.size) if self.err else b""
        return self.out.read(0, self.out.size), err

    @property
    def has_run(self) -> bool:
        """Whether a command ran for this answer: then its output must come out, no matter what fails."""
        return False

    @property
    def status(self) -> int:
        """The exit status that belongs to this input."""
        return OK

    @property
    def failure(self) -> Failure | None:
        return None

    @property
    def errors(self) -> tuple[StreamError, ...]:
        """What could not be read or passed on."""
        return ()

    def has_words(self, notices: tuple[Notice, ...]) -> bool:
        """Return whether there is something to say on stderr about this input."""
        return bool(self.errors) or any(not notice.of_the_cut for notice in notices)

    def with_ending(self, meta: Meta) -> Meta:
        """Return `meta`, including how the command ended."""
        return meta


class RunInput(Input):
    """The captured output of a command or of standard input."""

    captured: Captured = Captured(None)
    # The last bytes of stderr, even if the others were not kept.
    err_tail: bytes = b""

    @property
    def has_run(self) -> bool:
        return True

    @property
    def status(self) -> int:
        return self.captured.status

    @property
    def failure(self) -> Failure | None:
        broken = self.captured.broken
        return Failure(broken.code, str(broken)) if broken else failure_of(self.ending, self.err_tail)

    @property
    def errors(self) -> tuple[StreamError, ...]:
        found = (self.captured.broken, self.captured.failure)
        return tuple(error for error in found if isinstance(error, StreamError))

    def with_ending(self, meta: Meta) -> Meta:
        ending, broken = self.captured.ending, self.captured.broken
        if ending is not None:
            # Status 124 is tokcap's own: the command had another status, or none.
            exit_from = "tokcap" if ending.stopped_for == "timeout" else "command"
            meta = meta.replace(exit_code=ending.status, exit_from=exit_from, signal=ending.signal)
        if broken is not None:
            meta = meta.replace(exit_code=broken.exit_status, exit_from="tokcap")
        return meta
