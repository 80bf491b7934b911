"""Plain text: lines are records. It has no fields and no values to point at.

Text is cut only where both a token and a character end, and where a line ends, unless a line is longer than
any window. `cost` proves each candidate by counting the composed answer.
"""

from __future__ import annotations

from tokcap.core.cut import Cut, Gap, Kept
from tokcap.core.mark import (
    NAMING_FORMS,
    ROOMY_LIMIT,
    command_note,
    forms_of,
    inner_note,
    marks,
    names_command,
    note_of,
)
from tokcap.core.payload import SCRATCH_BYTES, Spool
from tokcap.core.tokenizer import Total
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from mmap import mmap

    from tokcap.core.cut import Ask, Cost, LongValues, Part, Ranges
    from tokcap.core.mark import MarkForm
    from tokcap.core.payload import Payload
    from tokcap.core.request import Align
    from tokcap.core.tokenizer import TokenMap
    from tokcap.shapes.base import Changed, FieldPath, RunFacts, Selected, Sniffed, Value


# A character has at most four bytes, so nearly always at most three tokens begin inside it.
TOKENS_INSIDE_A_CHARACTER = 3
NEWLINE = ord("\n")


def cut(payload: Payload, tokens: TokenMap, ask: Ask, cost: Cost) -> Cut:
    """Return the window that `ask` describes: as much of the payload as fits into the limit."""
    first, first_byte = start_of_window(tokens, ask.offset)
    if ask.limit is None or tokens.reach(first + ask.limit + 1) - first <= ask.limit:
        data = payload.read(first_byte, payload.size)
        rest = (Kept(data),) if data else ()
        # If bytes after it were lost, a mark must say so, and that takes room.
        if ask.limit is None or (not payload.lost and cost(rest) <= ask.limit):
            return Cut(rest, first)
    if ask.keep.survey:
        from tokcap.focus.window import survey_cut

        surveyed = survey_cut(payload, tokens, ask, first, first_byte, cost)
        if surveyed:
            return surveyed
    window = Window(payload, tokens, ask, ask.limit, first, cost)
    for align, form in attempts(ask):
        lines = Lines(window, align, form)
        shown = ask.keep.choose(lines)
        if shown:
            return lines.cut(shown)
    if ask.passed:
        # No mark fits after what is already written.
        return Cut((Kept(payload.read(0, ask.passed)),), 0, (Gap(tokens.token_at(ask.passed)),))
    for form in forms_of(ask):
        # The limit does not allow one character: show the mark alone, if that fits.
        marked = Lines(window, ask.align, form).cut(())
        if cost(marked.parts) <= ask.limit:
            return marked
    return Cut((), first, (Gap(first),))


def start_of_window(tokens: TokenMap, offset: int) -> tuple[int, int]:
    """Return token `offset` and its byte; if that is inside a character, where the character begins."""
    if offset == 0:
        return 0, 0
    token = tokens.reach(offset)
    while True:
        earliest = max(token - TOKENS_INSIDE_A_CHARACTER, 0)
        starts = tokens.starts(earliest, token)
        while token > earliest and starts[token - earliest] < 0:
            token -= 1
        if starts[token - earliest] >= 0:
            return token, starts[token - earliest]


def attempts(ask: Ask) -> Sequence[tuple[Align, MarkForm]]:
    """Return what is tried, best first: whole lines, then any token; without a mark only if none fits.

    From the limit on at which a mark names its command, a line is split rather than the command left out.
    """
    forms = forms_of(ask)
    alignments: tuple[Align, ...] = ("record", "token") if ask.align == "record" else ("token",)
    if names_command(ask.limit):
        naming = [form for form in forms if form in NAMING_FORMS]
        short = [form for form in forms if form not in NAMING_FORMS]
        if ask.limit is not None and ask.limit < ROOMY_LIMIT:
            # The long mark would leave a few tokens of a line.
            first = [(align, form) for align in alignments for form in naming]
        else:
            first = [(align, form) for form in naming for align in alignments]
        return [*first, *((align, form) for form in short for align in alignments)]
    marked = [(align, form) for align in alignments for form in forms if form != "none"]
    return [*marked, *((align, "none") for align in alignments)]


class Stretch:
    """The tokens from `first` to `last` with their bytes, and where a cut is allowed among them."""

    def __init__(self, payload: Payload, starts: Sequence[int], first: int) -> None:
        self.first = first
        self.last = first + len(starts) - 1
        self._starts = starts
        allowed = [byte for byte in starts if byte >= 0]
        # One byte more, to see whether the first position is the start of a line.
        self._base = max(allowed[0] - 1, 0)
        self._data = payload.read(self._base, allowed[-1])

    def cuts(self, align: Align, from_byte: int = 0) -> Sequence[int]:
        """Return the tokens before which a cut is allowed, in order; none before that byte."""
        data, before = self._data, self._base + 1
        return [
            self.first + number
            for number, byte in enumerate(self._starts)
            if byte >= from_byte
            if align == "token" or (byte >= before and data[byte - before] == NEWLINE)
        ]

    def between(self, first: int, end: int) -> bytes:
        """Return the bytes of the tokens from `first` up to `end`."""
        start, stop = self._starts[first - self.first], self._starts[end - self.first]
        return self._data[start - self._base : stop - self._base]


class Window:
    """An oversized payload and one limit: the stretches that the policy chooses from."""

    def __init__(
        self, payload: Payload, tokens: TokenMap, ask: Ask, limit: int, first: int, cost: Cost
    ) -> None:
        self.ask = ask
        self.limit = limit
        self.first = first
        self.cost = cost
        self.head: Stretch | None = None
        self.tail: Stretch | None = None
        self.end: int | None = None
        self.end_of_store = -1
        keep = ask.keep
        # Whether the numbers of tokens at the end are exact.
        self.end_exact = True
        if keep.needs_middle:
            self.end = self.whole_head_end = tokens.total_tokens
            self.head = self.tail = Stretch(payload, tokens.starts(first, self.end), first)
        elif keep.needs_head:
            # Nothing further than `limit` tokens from either end can be shown.
            self.head = Stretch(payload, tokens.starts(first, tokens.reach(first + limit)), first)
            # A head that ends here hides nothing, unless the end of the payload was lost.
            self.whole_head_end = tokens.reach(first + limit + 1)
            if payload.lost and self.whole_head_end <= first + limit:
                self.end_of_store = self.whole_head_end
                self.whole_head_end += 1
        if keep.needs_tail and self.tail is None:
            last = tokens.last(limit, self.head.last if self.head else first)
            self.end, self.end_exact = last.end.tokens, last.end.exact
            begin = max(self.end - len(last.starts) + 1, first)
            self.tail = Stretch(payload, last.starts[begin - self.end - 1 :], begin)
        # Last: the tokenizer still has the tokens of the head, and after a tail the total is exact.
        self.total = tokens.total

    def between(self, first: int, end: int) -> bytes:
        """Return the bytes of tokens in the head or in the tail."""
        stretch = self.head if self.head and end <= self.head.last else self.tail
        assert stretch
        return stretch.between(first, end)

    def is_in_tail(self, token: int) -> bool:
        return not (self.head and token <= self.head.last)


class Lines:
    """The units of a window in one alignment, with marks in one form. Implements `core.cut.Material`."""

    def __init__(self, window: Window, align: Align, form: MarkForm) -> None:
        self._window = window
        self._form = form
        self.limit = window.limit
        self.both_ends_required = True
        # What is already written is part of the window, so it cannot show the end alone.
        self.one_end_allowed = form == "none" and not window.ask.passed
        # Without a mark between them two ends would read as one text, unless the caller asked for no mark.
        self.gaps_are_marked = form != "none" or not window.ask.sentinel
        heads = window.head.cuts(align, window.ask.passed) if window.head else ()
        tails = window.tail.cuts(align) if window.tail else ()
        self._head_ends = [token for token in heads if window.first < token < window.whole_head_end]
        end = window.end
        self._tail_starts = [token for token in tails if end is not None and window.first < token < end]
        # Unit n is between borders n and n + 1.
        borders = {window.first, *self._head_ends, *self._tail_starts}
        self._borders = sorted(borders if end is None else {*borders, end})
        self._number = {token: number for number, token in enumerate(self._borders)}
        self.count = len(self._borders) - 1

    def head_ends(self) -> Sequence[int]:
        return [self._number[token] for token in self._head_ends]

    def tail_starts(self, hidden_from: int) -> Sequence[int]:
        starts = [self._number[token] for token in self._tail_starts]
        return [start for start in reversed(starts) if start > hidden_from]

    def text_of(self, unit: int) -> bytes:
        return self._window.between(self._borders[unit], self._borders[unit + 1])

    def price(self, shown: Ranges) -> int:
        return self._window.cost(self.cut(shown).parts)

    def cut(self, shown: Ranges) -> Cut:
        """Return the cut that shows these units, with a mark at each gap."""
        borders, place = self._borders, self._window.first
        # Exact even at an end that is not: its tokens are counted from there.
        shown_tokens = Total(sum(borders[end] - borders[first] for first, end in shown))
        parts: list[Part] = []
        gaps: list[Gap] = []
        notes: list[str] = []

        def leave_out(gap: Gap) -> None:
            window = self._window
            notes.append(
                inner_note(gap, window.ask) if gaps else note_of(shown_tokens, window.total, gap, window.ask)
            )
            note = notes[-1]
            if self._form == "command":
                note = "" if gaps else command_note(gap, window.ask)
            gaps.append(gap)
            parts.extend(marks(self._form, note, window.ask))

        for first, end in shown:
            if place < borders[first]:
                about = not self._window.end_exact and self._window.is_in_tail(borders[first])
                leave_out(Gap(place, borders[first], about=about))
            parts.append(Kept(self._window.between(borders[first], borders[end])))
            place = borders[end]
        if self._leaves_out_end(shown):
            last, is_lost = self._window.end if gaps else None, place == self._window.end_of_store
            leave_out(Gap(place, last, about=not self._window.end_exact, lost=is_lost))
        return Cut(tuple(parts), self._window.first, tuple(gaps), hint=notes[0] if notes else "")

    def _leaves_out_end(self, shown: Ranges) -> bool:
        if not shown or self._window.end is None or shown[-1][1] < self.count:
            return True
        # All that is stored is shown, but the end of the payload was lost.
        return len(shown) == 1 and not shown[0][0] and self._window.end == self._window.end_of_store


BLOCK_BYTES = 1 << 20
# A text with a line of this many blocks is not folded: equal lines are compared in memory.
LONG_LINE_BLOCKS = 4


def folded(payload: Payload) -> bytes | mmap:
    """Fold equal lines and blank lines. A text with a very long line is returned as it is."""
    out = Spool(SCRATCH_BYTES)
    last, times = b"", 0
    try:
        for lines in lines_in_blocks(payload):
            found: list[bytes] = []
            for line in lines:
                stripped = line.rstrip(b" \t\r")
                if stripped == last:
                    times += 1
                    continue
                # Blank lines at either end separate nothing.
                found += folded_run(last, times) if last or found or out.size else ()
                last, times = stripped, 1
            out.write(b"".join([line + b"\n" for line in found]))
    except LongLine:
        payload.check(0, payload.size)
        return payload.view()
    out.write(b"".join([line + b"\n" for line in folded_run(last, times) if line]))
    return out.into_text()


class LongLine(Exception):
    """A line is too long to be read at once."""


def folded_run(line: bytes, times: int) -> Sequence[bytes]:
    """Return equal lines as one line with a count, if that is shorter."""
    if not line:
        return [b""] * min(times, 1)
    one = b"%s  [x %d]" % (line, times)
    return [one] if len(one) < (len(line) + 1) * times - 1 else [line] * times


def lines_in_blocks(payload: Payload) -> Iterator[list[bytes]]:
    """Yield all lines without their ends, some at a time."""
    parts: list[bytes] = []
    for place in range(0, payload.size, BLOCK_BYTES):
        block = payload.read(place, min(place + BLOCK_BYTES, payload.size))
        cut = block.rfind(b"\n")
        if cut >= 0:
            yield b"".join((*parts, block[:cut])).split(b"\n")
            parts = []
        parts.append(block[cut + 1 :])
        if len(parts) == LONG_LINE_BLOCKS:
            raise LongLine
    if any(parts):
        yield [b"".join(parts)]


class Text(Record):
    """The shape of every output that is nothing else."""

    name: str = "text"
    mark_has_note: bool = True
    is_parsed: bool = False
    search_option: str = "grep REGEX"

    def sniff(self, payload: Payload) -> Sniffed | None:
        return self.confirm(payload)

    def confirm(self, payload: Payload) -> Sniffed:
        from tokcap.shapes.base import Sniffed

        return Sniffed(self.name)

    def cut(self, payload: Payload, tokens: TokenMap, ask: Ask, cost: Cost) -> Cut:
        return cut(payload, tokens, ask, cost)

    def whole(self, payload: Payload) -> LongValues:
        from tokcap.shapes.long_values import LongString

        return LongString(payload)

    def select(self, payload: Payload, paths: Sequence[FieldPath]) -> Selected | None:
        return None

    def value_at(self, payload: Payload, pointer: str) -> Value:
        from tokcap.errors import NotFound

        raise NotFound("--pointer needs JSON or a table, and this stored output is text; use --grep")

    def as_table(self, payload: Payload) -> Changed:
        from tokcap.shapes.base import Changed, unchanged
        from tokcap.shapes.beginning import kind_of

        return unchanged(payload, self.name) if kind_of(payload) else Changed(folded(payload), self.name)

    def summarize(self, payload: Payload, facts: RunFacts) -> Iterator[str]:
        from tokcap.shapes.summary import text_lines

        return text_lines(payload, facts, self)


TEXT = Text()
