"""Cuts: the window that is asked for, the parts of the payload that it shows, and how they are chosen.

*window*    the tokens from `offset` to `offset + limit`; the reader gets what fits
*mark*      the sentinel text at the place where something was left out
*unit*      what a window shows whole or not at all: a line, a row, a JSON value
*material*  an oversized payload as a row of units; a shape offers it, a keep policy chooses from it
"""

from __future__ import annotations

from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Literal, Protocol, TypeAlias

    from tokcap.core.payload import Payload
    from tokcap.core.request import Align
    from tokcap.core.response import Notice

    ValuesStyle: TypeAlias = Literal["array", "object", "lines", "bare"]
    Part: TypeAlias = "Kept | Mark | Values"
    # Returns what a composed answer costs in tokens. Only a count of the final text is a proof.
    Cost: TypeAlias = Callable[[tuple[Part, ...]], int]
    # Units that are shown, in order: each range from its first unit up to but not including its end.
    Ranges: TypeAlias = tuple[tuple[int, int], ...]

    class LongValues(Protocol):
        """All of a payload, to be written block by block."""

        def source(self) -> Iterator[bytes]:
            """Yield it as it is."""
            ...

        def document(self) -> Iterator[bytes]:
            """Yield one JSON document."""
            ...

        def lines(self) -> Iterator[bytes]:
            """Yield one value per line."""
            ...

    class Material(Protocol):
        """The units of an oversized payload, numbered from 0, and the price of showing some of them."""

        @property
        def limit(self) -> int:
            """The most tokens that a choice may cost."""
            ...

        @property
        def count(self) -> int:
            """The number of units. Between the first and the last ones others may be unread."""
            ...

        @property
        def both_ends_required(self) -> bool:
            """Whether a choice of both ends needs a unit at each: else a finer division is tried."""
            ...

        @property
        def one_end_allowed(self) -> bool:
            """Whether no finer division follows: then a policy for both ends may choose one of them."""
            ...

        @property
        def gaps_are_marked(self) -> bool:
            """Whether a reader sees where units are left out; if not, only one range may be chosen."""
            ...

        def head_ends(self) -> Sequence[int]:
            """Return where a range from unit 0 may end, shortest first."""
            ...

        def tail_starts(self, hidden_from: int) -> Sequence[int]:
            """Return where a range to the last unit may start after `hidden_from`, shortest range first."""
            ...

        def text_of(self, unit: int) -> bytes:
            """Return the source text of a unit."""
            ...

        def price(self, shown: Ranges) -> int:
            """Return what the answer costs in tokens if these units are shown, marks included."""
            ...

    class Surveyable(Protocol):
        """The text of a payload as lines, one for each unit."""

        @property
        def payload(self) -> Payload:
            """The payload that the units are made of. Each payload is surveyed once."""
            ...

        @property
        def count(self) -> int: ...
        def landmarks(self) -> Sequence[tuple[int, float]]:
            """Return units that show how the payload is built, each with its weight from 0 to 1."""
            ...

        def blocks(self) -> Iterator[bytes]:
            """Yield the text of all units, in order: each unit is one line. A block may end inside a line."""
            ...

    class PricedText(Surveyable, Protocol):
        """A text with about the price of its units."""

        def tokens_between(self, first: int, end: int) -> int:
            """Return about how many tokens these units cost."""
            ...

        @property
        def gap_tokens(self) -> int:
            """About how many tokens a gap costs."""
            ...

    class WholeMaterial(Material, PricedText, Protocol):
        """Material in which every unit can be read, for a policy that chooses among all of them."""

        def price_of(self, choice: Choice) -> int:
            """Return what the answer costs in tokens if this is chosen, gaps and marks included."""
            ...

    class KeepPolicy(Protocol):
        """Chooses which units of an oversized payload are shown."""

        # Which parts of the payload it chooses from. What it does not need is not read.
        @property
        def needs_head(self) -> bool: ...
        @property
        def needs_tail(self) -> bool: ...
        @property
        def needs_middle(self) -> bool: ...
        @property
        def prefers_end(self) -> bool:
            """Whether the end matters more than the beginning if there is room for only one."""
            ...

        @property
        def survey(self) -> SurveyPolicy | None:
            """The same policy if it chooses among all units and leaves many gaps; None if it does not."""
            ...

        def choose(self, material: Material) -> Ranges | None:
            """Return the units to show, within the limit; None if none fits."""
            ...

    class SurveyPolicy(Protocol):
        """Surveys all units, and chooses those that matter."""

        def choose_from(self, material: WholeMaterial) -> Choice | None:
            """Return the units to show, within the limit; None if none fits."""
            ...

        def lines_of(self, text: Surveyable) -> tuple[int, Mapping[int, int]]:
            """Return how many lines a text has, and some lines with the bytes where they begin."""
            ...

        def find_in(self, text: Surveyable) -> tuple[Found, ...]:
            """Return the units that matter most, whether they can be shown or not."""
            ...

        def divide(self, limit: int, texts: Sequence[PricedText]) -> Sequence[int]:
            """Return how many tokens of a limit each text should get, by what is worth showing in it."""
            ...


class Kept(Record):
    """Bytes of the payload, unchanged."""

    data: bytes


class Mark(Record):
    """The mark at a cut, with the note that follows it if there is room."""

    text: str
    note: str = ""
    # The number of records that it replaces, if others follow it.
    hidden: int | None = None
    # Its row in a table, with the line end; empty if it is not in a table.
    row: bytes = b""


class Values(Record):
    """JSON values side by side, each as its source text, with the mark among them if they are cut."""

    # What holds them together: an array, an object (each value then includes its key), lines, or
    # nothing: one bare value.
    style: ValuesStyle
    items: tuple[bytes | Mark, ...]
    # Whether the source ended with a newline.
    newline: bool = True
    # The whole payload, if all of it is shown: text form passes it on unchanged.
    source: bytes = b""
    # Whether values were left out, and whether a mark among them says so.
    is_cut: bool = False
    is_marked: bool = False


class Ask(Record):
    """Which window is asked for, and how its mark is worded."""

    limit: int | None
    offset: int
    keep: KeepPolicy
    align: Align
    sentinel: str
    # The command that fetches the rest; `{}` is the next offset.
    next_command: str = "--token-offset {}"
    # The command that shows one value; `{}` is its pointer. Empty if there is none.
    pointer_command: str = ""
    # The command that shows the source as text, for a document that is one value. Empty if there is none.
    text_command: str = ""
    # What is counted, if not the output itself: "stderr ".
    label: str = ""
    # A further remark in the mark, for example that the store is incomplete.
    remark: str = ""
    # False if bytes are counted instead of tokens.
    exact: bool = True
    # The option of the command that lists gaps. Empty if there is none.
    gaps_option: str = ""
    # Number of payload bytes already written: the window must start with them.
    passed: int = 0


class Found(Record):
    """A unit that matters, and what kind of thing it is: `error`, `trace`, `summary`."""

    unit: int
    kind: str


class Choice(Record):
    """The units that a survey chose to show."""

    shown: Ranges
    # Gaps in which every unit resembles the one shown before it, by their first unit.
    similar: frozenset[int] = frozenset()
    # What was found in all units, shown or not.
    found: tuple[Found, ...] = ()


class Finding(Record):
    """A place that matters: its line (from 1) or its pointer, its token, and what kind of thing is there."""

    token: int
    kind: str
    line: int | None = None
    pointer: str | None = None
    # The stream that it is in, if that is not stdout.
    stream: str | None = None

    def as_json(self) -> dict[str, int | str]:
        fields = ("stream", "line", "pointer", "token", "kind")
        return {name: value for name in fields if (value := self.__dict__[name]) is not None}


class Circumstances(Record):
    """What a keep policy may know about a call before it sees the output."""

    offset: int = 0
    # Whether the command failed; None if that is not known.
    failed: bool | None = None
    # A regular expression for what matters to the caller (`--focus`); empty if there is none.
    interest: str = ""
    # The question of the caller in its own words (`--ask`).
    ask: str = ""
    # Whether the beginning was written before the command ended: the answer goes on from there.
    is_begun: bool = False


class Gap(Record):
    """Tokens that were left out, from `first` up to but not including `end`; None: to the end."""

    first: int
    end: int | None = None
    # Whether `end` is an estimate.
    about: bool = False
    # Whether they were never stored because the store's limit was reached.
    lost: bool = False
    # In a window with many gaps: the line in which it begins, from 1, and how many lines it hides; None if
    # those are parts of lines.
    line: int = 0
    lines: int | None = None


class Cut(Record):
    """What is shown of a payload, in order, and what is not."""

    parts: tuple[Part, ...]
    first_token: int
    # In order. The next window starts at the first of them.
    gaps: tuple[Gap, ...] = ()
    hint: str = ""
    # For structured payloads: where the window starts and continues, and how many records it has.
    first_pointer: str | None = None
    next_pointer: str | None = None
    returned_count: int | None = None
    notices: tuple[Notice, ...] = ()
    # What a survey found; empty if there was none.
    findings: tuple[Finding, ...] = ()
    # All of a long payload, instead of `parts`; only if there is no limit.
    long: LongValues | None = None

    @property
    def gap(self) -> Gap | None:
        """The first gap; None if nothing was left out."""
        return self.gaps[0] if self.gaps else None

    @property
    def empty(self) -> bool:
        """Whether it contains nothing of the payload."""
        return not any(
            isinstance(part, Kept)
            or (isinstance(part, Values) and any(not isinstance(item, Mark) for item in part.items))
            for part in self.parts
        )


def is_marked(parts: tuple[Part, ...]) -> bool:
    """Return whether a mark among the parts says that something was left out."""
    return any(
        isinstance(part, Mark)
        or (
            isinstance(part, Values)
            and (part.is_marked or any(isinstance(item, Mark) for item in part.items))
        )
        for part in parts
    )


def is_cut(parts: tuple[Part, ...]) -> bool:
    """Return whether something was left out of the parts, as far as they tell."""
    return is_marked(parts) or any(isinstance(part, Values) and part.is_cut for part in parts)


def gaps_between(shown: Ranges, count: int) -> Ranges:
    """Return the ranges of units that are not shown, of `count` units in all."""
    gaps = []
    place = 0
    for first, end in shown:
        if place < first:
            gaps.append((place, first))
        place = end
    if place < count:
        gaps.append((place, count))
    return tuple(gaps)


# Costs grow nearly in proportion to what is shown, so a few proportional guesses come close.
PROPORTIONAL_GUESSES = 4


def largest_fit(number: int, cost: Callable[[int], int], limit: int) -> int | None:
    """Return the largest of the candidates 0 … `number` - 1 whose cost is within the limit.

    Candidates are ordered by size. Costs need not grow strictly (joined texts can cost a token more
    or less). The candidate returned always fits; None means that the first does not.
    """
    fitting, too_large = -1, number
    candidate = number - 1
    guesses = 0
    while fitting + 1 < too_large:
        tokens = cost(candidate)
        if tokens <= limit:
            fitting = candidate
        else:
            too_large = candidate
        guesses += 1
        if guesses <= PROPORTIONAL_GUESSES and tokens:
            candidate = (candidate + 1) * limit // tokens - 1
        else:
            candidate = (fitting + too_large) // 2
        candidate = min(max(candidate, fitting + 1), too_large - 1)
    return fitting if fitting >= 0 else None
