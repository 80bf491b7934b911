"""What every shape can do, and the records that it returns. A shape reads payloads; it writes nothing."""

from __future__ import annotations

from tokcap.core.response import Notice
from tokcap.environment import ShellReader
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from mmap import mmap
    from typing import Protocol, TypeAlias

    from tokcap.core.cut import Ask, Cost, Cut, LongValues
    from tokcap.core.payload import Payload
    from tokcap.core.tokenizer import TokenMap
    from tokcap.environment import Reader

    # The keys that lead to a field.
    FieldPath: TypeAlias = tuple[str, ...]

    class Shape(Protocol):
        """What an output is: text, JSON, a table."""

        @property
        def name(self) -> str: ...

        @property
        def mark_has_note(self) -> bool:
            """Whether a mark in it says what is hidden and how to get it; if not, it is the bare sentinel."""
            ...

        @property
        def is_parsed(self) -> bool:
            """Whether programs parse it, so that a session does not turn it into a table unasked."""
            ...

        @property
        def search_option(self) -> str:
            """The option of `show` that finds a part of such an output; empty if there is none."""
            ...

        def sniff(self, payload: Payload) -> Sniffed | None:
            """Return what the payload is if this shape recognizes it, else None."""
            ...

        def confirm(self, payload: Payload) -> Sniffed:
            """Check a payload that the caller declared to be this; text with a notice if it is not."""
            ...

        def cut(self, payload: Payload, tokens: TokenMap, ask: Ask, cost: Cost) -> Cut:
            """Return the window that `ask` describes, within its limit."""
            ...

        def whole(self, payload: Payload) -> LongValues | None:
            """Return all of a long payload, to be written block by block; None if it must be read at once."""
            ...

        def select(self, payload: Payload, paths: Sequence[FieldPath]) -> Selected | None:
            """Return the payload with only these fields; None if payloads of this shape have no fields."""
            ...

        def value_at(self, payload: Payload, pointer: str) -> Value:
            """Return the value at a JSON pointer; `NotFound` says what there is instead."""
            ...

        def as_table(self, payload: Payload) -> Changed:
            """Return the same records in fewer tokens: as a table if possible, else compacted."""
            ...

        def summarize(self, payload: Payload, facts: RunFacts) -> Iterator[str]:
            """Yield the lines of a summary, the most important first. The first one is the headline."""
            ...


class Sniffed(Record):
    """The shape of a payload, the number of records if known, and what is wrong with it."""

    shape: str
    total_count: int | None = None
    notices: tuple[Notice, ...] = ()


class Selected(Record):
    """A payload reduced to some fields: its text, the paths that were found, and the names of all fields."""

    data: bytes | mmap
    found: Collection[FieldPath]
    names: Sequence[str]


class Value(Record):
    """What a pointer leads to: text if it is a string or a cell, a table if it is a row, else JSON."""

    data: bytes
    shape: str


class Changed(Record):
    """A payload in another form."""

    data: bytes | mmap
    shape: str
    # About values outside the records, if a document has become a table.
    notices: tuple[Notice, ...] = ()


def unchanged(payload: Payload, shape: str) -> Changed:
    """Return a payload as it is."""
    payload.check(0, payload.size)
    return Changed(payload.view(), shape)


class RunFacts(Record):
    """What is known about the run whose output is summarized."""

    # Empty if nothing was stored.
    handle: str = ""
    # How the way to the output is worded.
    reader: Reader = ShellReader()
    exit_status: int | None = None
    signal: int | None = None
    out_bytes: int = 0
    err_bytes: int = 0
    out_tokens: int | None = None
    out_tokens_exact: bool = True
    err: Payload | None = None
    total_count: int | None = None
    # Bytes of stdout that are not in the store.
    lost_bytes: int = 0
    # The room for the summary; None if there is no limit.
    limit_tokens: int | None = None

    @property
    def failed(self) -> bool:
        return self.signal is not None or self.exit_status not in (None, 0)

    @property
    def succeeded(self) -> bool:
        return self.signal is None and self.exit_status == 0


def treated_as_text(expected: str, reason: str = "") -> Sniffed:
    """Return the result for a payload that is not valid `expected`."""
    why = f": {reason}" if reason else ""
    message = f"the output is not valid {expected}{why}; treated as text"
    return Sniffed("text", notices=(Notice("SHAPE_MISMATCH", message),))
