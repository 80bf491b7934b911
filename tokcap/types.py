"""The glossary: the records and interfaces that steps share. No behaviour lives here.

*payload*  the bytes that a command wrote to one stream, or that came from standard input
*token*    what the chosen tokenizer makes of the payload; token positions count from 0
*window*   the tokens from `offset` to `offset + limit`, of which the reader gets what fits
*record*   a unit that is not split if it can be helped: for text, a line
*mark*     the sentinel text that stands where something was left out
*handle*   the short name of a stored output, made from its bytes
*entry*    a stored output: its bytes, what is known of them, and indexes to read them by
"""

from __future__ import annotations

from tokcap.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from mmap import mmap
    from typing import Literal, Protocol, TypeAlias

    from tokcap.exits import Ending
    from tokcap.landmarks import Landmarks

    Output: TypeAlias = Literal["text", "json", "jsonl"]
    Shape: TypeAlias = Literal["auto", "text", "json", "jsonl", "csv", "tsv"]
    Keep: TypeAlias = Literal["head", "tail", "ends"]
    Align: TypeAlias = Literal["record", "token"]
    Mode: TypeAlias = Literal["raw", "table", "summary", "handle_only"]
    StderrMode: TypeAlias = Literal["separate", "merge", "pass", "drop"]
    Stream: TypeAlias = Literal["out", "err"]
    SpillMode: TypeAlias = Literal["auto", "always", "never"]

    class Source(Protocol):
        """Where bytes come from."""

        def blocks(self) -> Iterator[tuple[Stream, bytes]]: ...
        def end(self) -> Ending | None:
            """Stop reading, and say how the command ended; None where there is no command."""
            ...

        def stop(self, stream: Stream) -> None:
            """Read no more of one stream."""
            ...

        def limit_reached(self) -> None:
            """Nobody wants more."""
            ...

        def close(self) -> None:
            """The answer is out."""
            ...

    class Sink(Protocol):
        """Where bytes go."""

        def write(self, block: bytes) -> None: ...
        def finish(self) -> None:
            """No more will come."""
            ...

    class Filter(Protocol):
        """Changes bytes on their way. The result is the same however they are divided into blocks."""

        def feed(self, block: bytes) -> bytes:
            """What can be passed on by now."""
            ...

        def flush(self) -> bytes:
            """The rest."""
            ...

    class Payload(Protocol):
        """Bytes that can be read at any place."""

        # Where reading can begin in the midst of a structure; filled by whoever walks over it.
        landmarks: Landmarks
        # Bytes that followed and were not kept.
        lost: int

        @property
        def size(self) -> int: ...
        def read(self, start: int, stop: int) -> bytes: ...
        def view(self) -> bytes | mmap:
            """All of it, to be searched and sliced in place: a large payload is not copied for it."""
            ...

    class Tokenizer(Protocol):
        """Counts text and says how long each token is, in UTF-8 bytes: at least one."""

        name: str
        # Whether the same text has the same tokens in every process, today and tomorrow.
        stable: bool
        # Whether a certain cut is one wherever the text before it began.
        cuts_anywhere: bool
        # No token has more bytes: what has more of them for each token of a window does not fit into it.
        longest_token_bytes: int

        def prepare(self) -> None:
            """Load what counting much will need."""
            ...

        def count(self, text: str) -> int: ...

        def token_lengths(self, text: str) -> Sequence[int]:
            """Bytes of each token; they add up to the bytes of the text."""
            ...

        def certain_cut(self, data: bytearray, begin: int, search_from: int) -> int | None:
            """A place after `search_from` where text that begins at `begin` can be cut for certain.

            Certain means: encoding both sides apart gives the tokens of the whole, whatever follows
            `data`. None: there is no such place in `data`.
            """
            ...

        def proven_cut(self, data: bytes) -> int | None:
            """The same for a long stretch in which there is none: a place found by encoding it."""
            ...

    class TokenMap(Protocol):
        """Where the tokens of one payload lie."""

        @property
        def longest_token_bytes(self) -> int:
            """See `Tokenizer`."""
            ...

        @property
        def total_tokens(self) -> int:
            """The exact total. Counts everything: for a window at the beginning, use `reach`."""
            ...

        @property
        def total(self) -> Total: ...
        def reach(self, token: int) -> int:
            """`token`, or the number of tokens if there are not so many."""
            ...

        def token_at(self, byte: int) -> int:
            """The token that holds the byte; the number of tokens for the payload's end."""
            ...

        def byte_at(self, token: int) -> int:
            """Where a token begins, be it inside a character; the payload's size past the end."""
            ...

        def starts(self, first: int, last: int) -> Sequence[int]:
            """Byte positions at which tokens `first` to `last` begin, both included.

            Token `total_tokens` begins at the payload's end. A token that begins inside a character
            has the position -1: nothing may be cut there.
            """
            ...

    # What a composed answer costs in tokens. Only a count of the final text is a proof.
    Cost: TypeAlias = Callable[[tuple["Part", ...]], int]


class View(Record):
    """How an output is looked at. Fully decided: flags, environment, config and defaults merged."""

    token_limit: int | None
    token_offset: int
    token_count: bool
    tokenizer: str
    output: Output
    shape: Shape
    keep: Keep
    align: Align
    sentinel: str
    exact_total: bool
    fields: str
    mode: Mode
    session: str
    turn: str
    model: str
    context_window: int | None
    result_pct: float
    turn_pct: float
    floor_tokens: int
    compact_before_spill: bool
    compact_hook: str
    account: bool


class Request(View):
    """One call of the wrapper form."""

    command: tuple[str, ...]
    stderr: StderrMode
    pty: bool
    timeout: float | None
    kill_after: float
    kill_on_limit: bool
    spill: SpillMode
    max_bytes: int
    clean: bool
    redact: bool
    record_arguments: bool
    spill_days: int
    spill_total: int


class ShowRequest(View):
    """One call of `show`: a stored output, or a part of it."""

    handle: str
    stream: Stream
    pointer: str
    grep: str
    context: int


class Kept(Record):
    """Bytes of the payload, as they are."""

    data: bytes


class Mark(Record):
    """The mark at a cut, with the note that follows it where there is room."""

    text: str
    note: str = ""
    # How many records it stands for, where others follow it.
    hidden: int | None = None
    # How it stands in a table, with its line end; empty where there is none.
    row: bytes = b""


class Values(Record):
    """JSON values side by side, each as its source text, with the mark among them where they are cut."""

    # How they are held together: an array, an object (then every value has its key), lines, or
    # nothing: one bare value.
    style: ValuesStyle
    items: tuple[bytes | Mark, ...]
    # Whether the source ended with a newline, which a terminal will want as well.
    newline: bool = True
    # The payload itself, where all of it is shown: as text it is passed on as it is.
    source: bytes = b""


if TYPE_CHECKING:
    ValuesStyle: TypeAlias = Literal["array", "object", "lines", "bare"]
    Part: TypeAlias = Kept | Mark | Values


class Ask(Record):
    """Which window is asked for, and how its mark is worded."""

    limit: int | None
    offset: int
    keep: Keep
    align: Align
    sentinel: str
    # How the rest is fetched, with `{}` for the token to go on from.
    way: str = "--token-offset {}"
    # What is counted, if not the output itself: "stderr ".
    label: str = ""
    # What else the mark has to say.
    remark: str = ""
    # Whether the tokens are those that were asked for, or bytes in their stead.
    exact: bool = True
    # Bytes of the payload that are out already: the window has to begin with them.
    passed: int = 0
    # Which of both ends is kept where there is room for one only.
    rather: Literal["head", "tail"] = "head"


class Total(Record):
    """How many tokens a payload has, or about how many."""

    tokens: int
    exact: bool = True

    @property
    def words(self) -> str:
        """`4217`, or `about 1.2M`: an estimate has no more digits than it deserves."""
        return str(self.tokens) if self.exact else f"about {rounded(self.tokens)}"


def rounded(number: int) -> str:
    """Two significant digits, in thousands and millions."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{number / size:.{1 if number < 10 * size else 0}f}{unit}"
    return str(number)


class Gap(Record):
    """Tokens that were left out: from `first` up to, not including, `end`; None: to the very end."""

    first: int
    end: int | None = None
    # Whether they are nowhere: the store was full before they came.
    lost: bool = False


class Cut(Record):
    """What is shown of a payload, in order, and what is not."""

    parts: tuple[Part, ...]
    first_token: int
    gap: Gap | None
    hint: str = ""
    # Of structured payloads: where the window begins and goes on, and how many records it has.
    first_pointer: str | None = None
    next_pointer: str | None = None
    returned_count: int | None = None
    notices: tuple[Notice, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing of the payload is in it."""
        return not any(
            isinstance(part, Kept)
            or (isinstance(part, Values) and any(not isinstance(item, Mark) for item in part.items))
            for part in self.parts
        )


if TYPE_CHECKING:
    CutShape: TypeAlias = Callable[[Payload, TokenMap, Ask, Cost], Cut]


class Notice(Record):
    """Something the caller should know although the answer stands; a warning in the envelope."""

    code: str
    message: str
    pointer: str | None = None
    tokens: int | None = None
    tokens_estimate: int | None = None
    # Whether it only says what was left out for want of room: the mark does that in text form.
    of_the_cut: bool = False
