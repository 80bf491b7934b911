"""What an answer is made from: the streams of a run, or a part of a stored output."""

from __future__ import annotations

from tokcap.core.request import AUTO
from tokcap.core.response import Failure, failure_of
from tokcap.errors import StreamError
from tokcap.exits import OK
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.steps.capture import Captured

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokcap.core.notice import Notice
    from tokcap.core.payload import Payload
    from tokcap.core.request import Stream
    from tokcap.core.response import Meta
    from tokcap.exits import Ending
    from tokcap.tokens.checkpoints import Checkpoints
    from tokcap.tokens.index import Index


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

    def followed_by(self, out: bytes, err: bytes) -> bytes:
        """Return all bytes in the order in which they are written, if these are the whole streams."""
        before = self.together or out[: self.out] or err[: self.err]
        return before + out[self.out :] + err[self.err :]


NOTHING_PASSED = Passed()


class Input(Record):
    """What both kinds of input have."""

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
    def is_derived(self) -> bool:
        """Whether `out` was made from a stream: a value in it, or the lines that match."""
        return False

    @property
    def counted(self) -> Mapping[Stream, Index]:
        """Return the indexes of whole streams that were made before."""
        return {}

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
            meta = meta.but(exit_code=ending.status, exit_from=exit_from, signal=ending.signal)
        if broken is not None:
            meta = meta.but(exit_code=broken.exit_status, exit_from="tokcap")
        return meta


class StoredInput(Input):
    """A stored stream, or what was made from it: a value, or the lines that match."""

    derived: bool = False
    # The index of the stream that `out` was made from.
    index: Index | None = None

    @property
    def is_derived(self) -> bool:
        return self.derived

    @property
    def counted(self) -> Mapping[Stream, Index]:
        return {"out": self.index} if self.index else {}
