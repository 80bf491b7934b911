"""The results of the library functions: the output that is shown, and the facts about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, AnyStr, Generic

from tokcap.exits import OK, TIMED_OUT
from tokcap.startup.record import Record
from tokcap.steps.answer import Proof
from tokcap.steps.capture import NOTHING_PASSED
from tokcap.store.handles import split_offset
from tokcap.tokens import open_tokenizer, safe_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.response import Failure, Meta, Notice

# How much of an output its `repr` shows.
SHORT_BYTES = 40


class ShownOutput(Record):
    """The bytes that the command line would write to stdout, and what the envelope would say about them."""

    data: bytes
    # The `meta` of the envelope. A field that does not apply is None.
    meta: Meta
    warnings: tuple[Notice, ...]

    @property
    def all_stderr(self) -> bytes:
        """What the command line would write to stderr."""
        raise NotImplementedError

    def __repr__(self) -> str:
        status = f"status={self.status} " if isinstance(self, Result) else ""
        rest = f" next_offset={self.next_offset} handle={self.handle}" if self.truncated else ""
        shown = f"{self.data[:SHORT_BYTES]!r}{'...' if len(self.data) > SHORT_BYTES else ''}"
        return f"<{type(self).__name__} {status}{shown}{rest}>"

    @property
    def truncated(self) -> bool:
        """Whether there is more output than is shown."""
        return bool(self.meta.truncated)

    @property
    def returned_tokens(self) -> int:
        """The most tokens that a reader of everything can count: output or envelope, stderr, and words."""
        return read_tokens(self.data, self.all_stderr, self.meta)

    @property
    def total_tokens(self) -> int | None:
        """Tokens of the whole output. None if only an estimate is known; `exact_total=True` avoids this."""
        if self.meta.token_count is not None:
            return self.meta.token_count
        if self.meta.total_tokens is not None or self.meta.total_tokens_estimate is not None:
            return self.meta.total_tokens
        # The whole output is shown and was not counted before.
        return self._count_shown()

    @property
    def total_tokens_estimate(self) -> int | None:
        """The estimated tokens of the whole output, if they were not counted exactly."""
        return self.meta.total_tokens_estimate

    @property
    def next_offset(self) -> int | None:
        """The token at which the next window starts. None if nothing is left."""
        return self.meta.next_offset

    @property
    def next_call(self) -> dict[str, Any] | None:
        """The arguments of `show` that return the next window: `show(**result.next_call)`.

        They have the view that `next_offset` counts in. None if nothing is left, or if it was not stored.
        """
        return show_arguments(self.meta.continue_)

    @property
    def handle(self) -> str | None:
        """The handle of the stored output, for `show`. None if the output was not stored."""
        return self.meta.handle

    @property
    def hint(self) -> str | None:
        """A sentence that says what is missing and how to get it. None if nothing is missing."""
        return self.meta.truncation_hint

    def _count_shown(self) -> int:
        return safe_count(self.data, open_tokenizer(self.meta.tokenizer))


class Capped(Generic[AnyStr], ShownOutput):
    """The window of a text or of a stored output. `text` has the type of the input; `data` is bytes."""

    text: AnyStr
    # What the command line would say on stderr: warnings, and the way to the rest of a structured cut.
    words: bytes = b""

    @property
    def all_stderr(self) -> bytes:
        return self.words


class Result(ShownOutput):
    """The result of a command: the output that is shown, and how the command ended."""

    # The part of stderr that is shown.
    stderr_data: bytes
    # As in a shell: 128 + N after signal N, 124 after a timeout.
    status: int
    # None if `status` is 0.
    error: Failure | None
    # What the command line would add to stderr: warnings, and the way to the rest of a structured cut.
    words: bytes = b""

    @property
    def all_stderr(self) -> bytes:
        return self.stderr_data + self.words

    @property
    def text(self) -> str:
        """`data` as text, as in the results of `cap` and `show`. Bytes that are not UTF-8 are replaced."""
        return self.data.decode("utf-8", "replace")

    @property
    def stdout(self) -> str:
        """The same as `text`, by the name that it has in `subprocess`."""
        return self.text

    @property
    def stderr(self) -> str:
        """`stderr_data` as text. Bytes that are not UTF-8 are replaced."""
        return self.stderr_data.decode("utf-8", "replace")

    @property
    def ok(self) -> bool:
        """Whether the exit status is 0."""
        return self.status == OK

    @property
    def signal(self) -> int | None:
        """The number of the signal that killed the command, or None."""
        return self.meta.signal

    @property
    def timed_out(self) -> bool:
        """Whether the command was stopped because it timed out."""
        return self.status == TIMED_OUT and self.error is not None and self.error.code == "TIMEOUT"

    @property
    def duration(self) -> float:
        """How long the command ran, in seconds, rounded to milliseconds."""
        return self.meta.duration_ms / 1000


def read_tokens(data: bytes, stderr: bytes, meta: Meta) -> int:
    """Return the most tokens that a reader of two streams can count."""
    proof = Proof(open_tokenizer(meta.tokenizer), NOTHING_PASSED, count=safe_count)
    return proof.cost(data, stderr)


# What the functions call these options.
SHORT_NAMES = {"token_offset": "offset", "token_limit": "limit"}
NUMBERS = ("token_offset", "token_limit", "context", "context_window")
SWITCHES = ("clean",)


def show_arguments(words: Sequence[str] | None) -> dict[str, Any] | None:
    """Return the arguments of `show` that give the next window; None if there is no stored output."""
    if not words or words[0] != "show":
        return None
    handle, offset = split_offset(words[1])
    found: dict[str, Any] = {"handle": handle, "offset": int(offset or 0)}
    rest = iter(words[2:])
    for word in rest:
        key = word.removeprefix("--").replace("-", "_")
        if key in SWITCHES:
            found[key] = True
        else:
            value = next(rest)
            found[SHORT_NAMES.get(key, key)] = int(value) if key in NUMBERS else value
    return found
