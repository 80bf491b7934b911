"""Windows over text: lines are records. Payload and token places in, parts and gap out.

Every cut lies where a token ends and a character ends too, and, unless a line is longer than any
window, where a line ends. `cost` proves each candidate by counting the composed answer.
"""

from __future__ import annotations

from tokcap.core.cut import Cut, Gap, Kept
from tokcap.core.fit import largest_fit
from tokcap.core.mark import forms_of, marks, note_of
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.cut import Ask, Cost, Part
    from tokcap.core.mark import MarkForm
    from tokcap.core.payload import Payload
    from tokcap.core.request import Align
    from tokcap.core.tokenizer import TokenMap

# A character has at most four bytes, and so at most three tokens begin inside it.
TOKENS_INSIDE_A_CHARACTER = 3
NEWLINE = ord("\n")


def cut(payload: Payload, tokens: TokenMap, ask: Ask, cost: Cost) -> Cut:
    """The window that `ask` describes: as much of the payload as `cost` lets into the limit."""
    first, first_byte = start_of_window(tokens, ask.offset)
    if ask.limit is None or tokens.reach(first + ask.limit + 1) - first <= ask.limit:
        data = payload.read(first_byte, payload.size)
        rest = (Kept(data),) if data else ()
        # What was lost behind it must be said, and saying it takes room.
        if ask.limit is None or (not payload.lost and cost(rest) <= ask.limit):
            return Cut(rest, first, gap=None)
    window = Window(payload, tokens, ask, ask.limit, first, cost)
    for align, form in attempts(ask):
        found = window.largest(align, form)
        if found:
            return found
    if ask.passed:
        # No mark fits beside what is out already.
        return Cut((Kept(payload.read(0, ask.passed)),), 0, Gap(tokens.token_at(ask.passed)))
    return window.without_payload()


def start_of_window(tokens: TokenMap, offset: int) -> tuple[int, int]:
    """Token `offset` and its byte; if that lies inside a character, where that character begins."""
    if offset == 0:
        return 0, 0
    token = tokens.reach(offset)
    earliest = max(token - TOKENS_INSIDE_A_CHARACTER, 0)
    starts = tokens.starts(earliest, token)
    while starts[token - earliest] < 0:
        token -= 1
    return token, starts[token - earliest]


def attempts(ask: Ask) -> Sequence[tuple[Align, MarkForm]]:
    """What is tried, best first: whole records, then any token; without mark only if none fits."""
    marked = [form for form in forms_of(ask) if form != "none"]
    ways: tuple[Align, ...] = ("record", "token") if ask.align == "record" else ("token",)
    return [(way, form) for way in ways for form in marked] + [(way, "none") for way in ways]


class Stretch:
    """The tokens from `first` to `last` with their bytes, and where a cut may lie among them."""

    def __init__(self, payload: Payload, tokens: TokenMap, first: int, last: int) -> None:
        self._first = first
        self._starts = tokens.starts(first, last)
        allowed = [byte for byte in self._starts if byte >= 0]
        # One byte more, to see whether the first place is the start of a line.
        self._base = max(allowed[0] - 1, 0)
        self._data = payload.read(self._base, allowed[-1])

    def cuts(self, align: Align, from_byte: int = 0) -> Sequence[int]:
        """Tokens before which a cut is allowed, in order; none before that byte."""
        data, before = self._data, self._base + 1
        return [
            self._first + number
            for number, byte in enumerate(self._starts)
            if byte >= from_byte
            if align == "token" or (byte >= before and data[byte - before] == NEWLINE)
        ]

    def between(self, first: int, end: int) -> bytes:
        """The bytes of the tokens from `first` up to `end`."""
        start, stop = self._starts[first - self._first], self._starts[end - self._first]
        return self._data[start - self._base : stop - self._base]


class Window:
    """One oversized payload, seen through one limit."""

    def __init__(
        self, payload: Payload, tokens: TokenMap, ask: Ask, limit: int, first: int, cost: Cost
    ) -> None:
        self._ask = ask
        self._limit = limit
        self._first = first
        self._cost = cost
        # Nothing further than `limit` tokens from either end can be shown.
        if ask.keep != "tail":
            self._head = Stretch(payload, tokens, first, tokens.reach(first + limit))
            # One past the limit, or the end of the payload: a head that ends there hides nothing, unless
            # the payload has lost its end.
            self._hides_nothing = tokens.reach(first + limit + 1)
            self._end_of_store = -1
            if payload.lost and self._hides_nothing <= first + limit:
                self._end_of_store = self._hides_nothing
                self._hides_nothing += 1
        if ask.keep != "head":
            self._end = tokens.total_tokens
            self._line_ends = line_ends(payload, tokens.byte_at(first))
            self._tail = Stretch(payload, tokens, max(self._end - limit, first), self._end)
        self._total = tokens.total

    def largest(self, align: Align, form: MarkForm) -> Cut | None:
        """The largest cut of this kind within the limit; None if there is none."""
        head = tail = None
        keep = self._ask.keep
        if keep == "ends":
            # Two ends without a mark between them would read as one text, unless that was asked for.
            glued = form == "none" and self._ask.sentinel
            both = None if glued else self._largest_ends(align, form)
            if both or form != "none":
                return both
            keep = self._ask.rather
        if keep == "head":
            head = self._largest_head(align, form, self._limit)
        else:
            tail = self._largest_tail(align, form, None)
        return None if head is None and tail is None else self._cut(head, tail, form)

    def _largest_ends(self, align: Align, form: MarkForm) -> Cut | None:
        """Both ends, each about half of the limit, each at least one record; None if they do not fit."""
        heads, tails = self._heads(align), self._tails(align, self._first)
        if not heads or not tails or heads[0] >= tails[0]:
            return None
        bare = self._price(None, None, form)
        half = bare + (self._limit - bare) // 2
        best = largest_fit(len(heads), lambda n: self._price(heads[n], None, form), half) or 0
        # The head gives way to the last record, and both to the limit.
        heads = [head for head in heads[: best + 1] if head < tails[0]]
        both = largest_fit(len(heads), lambda n: self._price(heads[n], tails[0], form), self._limit)
        if both is None:
            return None
        head = heads[both]
        return self._cut(head, self._largest_tail(align, form, head), form)

    def without_payload(self) -> Cut:
        """The limit does not admit one character. The mark alone, if that fits; else nothing."""
        for form in forms_of(self._ask):
            if self._price(None, None, form) <= self._limit:
                return self._cut(None, None, form)
        return Cut((), self._first, Gap(self._first))

    def _largest_head(self, align: Align, form: MarkForm, limit: int) -> int | None:
        ends = self._heads(align)
        best = largest_fit(len(ends), lambda n: self._price(ends[n], None, form), limit)
        return None if best is None else ends[best]

    def _largest_tail(self, align: Align, form: MarkForm, head: int | None) -> int | None:
        starts = self._tails(align, self._first if head is None else head)
        best = largest_fit(len(starts), lambda n: self._price(head, starts[n], form), self._limit)
        return None if best is None else starts[best]

    def _heads(self, align: Align) -> Sequence[int]:
        """Tokens before which a head may end, short heads first."""
        return [
            token
            for token in self._head.cuts(align, self._ask.passed)
            if self._first < token < self._hides_nothing
        ]

    def _tails(self, align: Align, hidden_from: int) -> Sequence[int]:
        """Tokens at which a tail may begin, short tails first; something stays hidden before it."""
        return [token for token in self._tail.cuts(align) if hidden_from < token < self._end][::-1]

    def _price(self, head: int | None, tail: int | None, form: MarkForm) -> int:
        return self._cost(self._cut(head, tail, form).parts)

    def _cut(self, head: int | None, tail: int | None, form: MarkForm) -> Cut:
        """Show the tokens up to `head` and those from `tail` on, with a mark in between."""
        gap = Gap(self._first if head is None else head, tail)
        if tail is None and self._ask.keep != "tail" and gap.first == self._end_of_store:
            gap = gap.but(lost=True)
        before = b"" if head is None else self._head.between(self._first, head)
        behind = b"" if tail is None else self._tail.between(tail, self._end)
        hidden = None if tail is None else self._line_ends - before.count(b"\n") - behind.count(b"\n")
        note = note_of(gap, self._first, self._total, self._ask, hidden)
        parts: list[Part] = []
        if head is not None:
            parts.append(Kept(before))
        parts += marks(form, note, self._ask)
        if tail is not None:
            parts.append(Kept(behind))
        return Cut(tuple(parts), self._first, gap, hint=note)


def line_ends(payload: Payload, start: int) -> int:
    """How many lines end in a payload from one place on."""
    step = 1 << 20
    return sum(
        payload.read(place, min(place + step, payload.size)).count(b"\n")
        for place in range(start, payload.size, step)
    )
