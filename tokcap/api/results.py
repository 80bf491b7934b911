"""What the functions of the library return: what is shown, and all that is known of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, AnyStr, Generic

from tokcap.exits import OK, TIMED_OUT
from tokcap.lean.record import Record
from tokcap.steps.fitting import safe_count
from tokcap.tokens import open_tokenizer

if TYPE_CHECKING:
    from tokcap.core.notice import Notice
    from tokcap.core.response import Failure, Meta


class Answered(Record):
    """The bytes that the command line would write to stdout, and what the envelope would say of them."""

    data: bytes
    # The `meta` of an envelope; a field that does not apply is None.
    meta: Meta
    warnings: tuple[Notice, ...]

    @property
    def truncated(self) -> bool:
        """Whether there is more than is shown."""
        return bool(self.meta.truncated)

    @property
    def returned_tokens(self) -> int:
        """Tokens of what is shown, counted when asked for; with `output="json"` those of `data`."""
        known = self.meta.returned_tokens
        return self._counted() if known is None else known

    @property
    def total_tokens(self) -> int | None:
        """Tokens of all there is; None where only an estimate is known (`exact_total=True` counts)."""
        if self.meta.token_count is not None:
            return self.meta.token_count
        if self.meta.total_tokens is not None or self.meta.total_tokens_estimate is not None:
            return self.meta.total_tokens
        # It was not even counted, for all of it is shown.
        return self._counted()

    @property
    def total_tokens_estimate(self) -> int | None:
        """About how many tokens there are, where that was not counted."""
        return self.meta.total_tokens_estimate

    @property
    def next_offset(self) -> int | None:
        """The token to go on from; None if nothing is left."""
        return self.meta.next_offset

    @property
    def handle(self) -> str | None:
        """The name under which all of it is stored, for `show`; None if it is not."""
        return self.meta.handle

    @property
    def hint(self) -> str | None:
        """What is missing and how it is fetched, in words; None if nothing is."""
        return self.meta.truncation_hint

    def _counted(self) -> int:
        return safe_count(self.data, open_tokenizer(self.meta.tokenizer))


class Capped(Generic[AnyStr], Answered):
    """A text, or as much of it as was asked for. `text` is of the type that was given; `data` is bytes."""

    text: AnyStr


class Result(Answered):
    """What became of a command: what is shown of its output, and how it ended."""

    # What is shown of its stderr.
    stderr_data: bytes
    # As a shell would tell it: 128 + N after signal N, 124 after `timeout`.
    status: int
    # None if `status` is 0.
    error: Failure | None

    @property
    def stdout(self) -> str:
        """`data` as text; what is no UTF-8 in it is replaced."""
        return self.data.decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        """What is shown of stderr, as text."""
        return self.stderr_data.decode("utf-8", "replace")

    @property
    def ok(self) -> bool:
        """Whether the exit status is 0."""
        return self.status == OK

    @property
    def signal(self) -> int | None:
        """The signal that killed the command."""
        return self.meta.signal

    @property
    def timed_out(self) -> bool:
        """Whether the command was ended because its time was up."""
        return self.status == TIMED_OUT and self.error is not None and self.error.code == "TIMEOUT"

    @property
    def duration(self) -> float:
        """Seconds that it took, to a millisecond."""
        return self.meta.duration_ms / 1000
