"""Divide a limit over the lines of one or more texts: failures, both ends, structure, and what is rare.

Units have a value and a cost in tokens. The unit with the most value for its cost is shown next; the more of
its kind are shown, the less it is worth. The ends compete with them, so that none of them takes all.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from heapq import heappop, heappush
from itertools import count

from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokcap.core.cut import Ranges
    from tokcap.focus.units import Findings, Unit

    # The tokens of the lines from the first number up to the second one.
    Cost = Callable[[int, int], int]

# How much the cost counts: 1 for value per token, 0 for value alone.
COST_POWER = 0.95
# Tokens that every unit seems to cost in addition, so that short lines are not preferred too much.
BASE_TOKENS = 40
# The value of a line at an end after a failure and after a success, and the share of the limit after which it
# is worth half.
TAIL_VALUES, TAIL_SHARE = (5.0, 4.0), 0.025
HEAD_VALUES, HEAD_SHARE = (6.0, 4.5), 0.025
# Lines at an end are shown together if they cost at most the limit divided by this.
STEP_SHARE = 50
# A line at an end that differs from its neighbour only in digits.
SIMILAR_SHARE = 0.1
# By how much a unit is worth less for each unit of its group, its kind, and with the same words.
GROUP_LOSS, KIND_LOSS, REPEAT_LOSS = 0.33, 0.06, 4.0
# Kinds whose units look alike, but are different parts of the text.
PARTS = frozenset(("heading", "commit", "definition", "hunk"))
# Kinds that are worth the same however many of them are shown.
LASTING = frozenset(("place", "section", "detail", "subject", "outlier"))
# What the caller asked for is never worth less.
ASKED_FOR = "interest"
# Lines around a unit: the share of its value, less for each line of distance.
AFTER_SHARE, BEFORE_SHARE, DISTANCE_LOSS = 0.18, 0.2, 0.2
FARTHEST_LINES = 50
# A gap that hides at most this many times what it costs can be filled, and what that is worth.
SMALL_GAPS, FILL_VALUE = 3, 1.0
# How much of the limit the first and the last line may take together. Once the ends have it, more of them is
# worth this share, unless the text is prose, which has no templates to show examples of.
ENDS_SHARE, LATE_SHARE, PROSE_SAMENESS = 0.25, 0.01, 0.25


class Text(Record):
    """One text to choose from: what was found in it, and what its lines cost."""

    findings: Findings
    cost: Cost


def choose(findings: Findings, limit_tokens: int, cost: Cost, gap_tokens: int = 12) -> Ranges:
    """Return the ranges of lines to show, in order.

    `cost` gives the tokens of a range of lines. The ranges, and `gap_tokens` for each gap between them, cost
    at most `limit_tokens`.
    """
    return choose_from((Text(findings, cost),), limit_tokens, gap_tokens)[0]


def choose_from(texts: Sequence[Text], limit_tokens: int, gap_tokens: int = 12) -> tuple[Ranges, ...]:
    """Return the ranges of lines to show of each text; all of them share the limit."""
    return Choice(texts, limit_tokens, gap_tokens).made()


class Offer(Record):
    """Lines that can be shown next, and what they are worth."""

    text: TextChoice
    first: int
    end: int
    value: float
    # The unit that these lines are, or the end of the text that they continue; neither for other lines.
    unit: Unit | None = None
    growing: GrowingEnd | None = None


class TextChoice:
    """The lines of one text that are shown so far, and what was found in it."""

    def __init__(self, text: Text, gap_tokens: int) -> None:
        self.findings = text.findings
        self.cost = text.cost
        self.shown = ShownLines(text.findings.total_lines, text.cost, gap_tokens)
        self.groups: Counter[int] = Counter()
        self.explaining: dict[int, list[Unit]] = {}
        for unit in text.findings.units:
            if unit.explains >= 0:
                self.explaining.setdefault(unit.explains, []).append(unit)


class GrowingEnd:
    """One end of a text, which grows by some lines at a time."""

    def __init__(self, text: TextChoice, limit_tokens: int, *, is_tail: bool) -> None:
        values, share = (TAIL_VALUES, TAIL_SHARE) if is_tail else (HEAD_VALUES, HEAD_SHARE)
        self._text = text
        self._is_tail = is_tail
        self._value = values[0] if text.findings.failed else values[1]
        self._half_tokens = share * limit_tokens + 1
        self._step_tokens = limit_tokens // STEP_SHARE
        self.spent_tokens = 0
        # Where the end ends.
        self._border = text.shown.total_lines if is_tail else 0

    def next_offer(self, *, single: bool = False) -> Offer | None:
        """Return the next lines that are not shown: some, if they cost little, or a single one."""
        shown, cost = self._text.shown, self._text.cost
        if self._is_tail:
            end = shown.first_of(self._border - 1) if self._border else 0
            self._border, first = end, end - 1
            # The sum of lines is near enough, and does not count any of them again.
            tokens = cost(first, end) if first >= 0 and not single else 0
            while not single and first > 0 and not shown.has(first - 1):
                tokens += cost(first - 1, first)
                if tokens > self._step_tokens:
                    break
                first -= 1
        else:
            first = shown.end_of(self._border)
            self._border, end = first, first + 1
            tokens = cost(first, end) if end <= shown.total_lines and not single else 0
            while not single and end < shown.total_lines and not shown.has(end):
                tokens += cost(end, end + 1)
                if tokens > self._step_tokens:
                    break
                end += 1
        if first < 0 or end > shown.total_lines:
            return None
        value = self._value / (1 + self.spent_tokens / self._half_tokens)
        neighbour = end if self._is_tail else first
        if self._text.findings.are_similar(neighbour, neighbour + 1):
            value *= SIMILAR_SHARE
        return Offer(self._text, first, end, value, growing=self)

    def density_of(self, offer: Offer) -> float:
        """Return value per token. Steps are as good as single lines."""
        line_tokens = self._text.cost(offer.first, offer.end) / (offer.end - offer.first)
        density: float = offer.value / (line_tokens + BASE_TOKENS) ** COST_POWER
        return density


class Choice:
    """A choice in progress."""

    def __init__(self, texts: Sequence[Text], limit_tokens: int, gap_tokens: int) -> None:
        self._limit = limit_tokens
        self._gap = gap_tokens
        self._texts = [TextChoice(text, gap_tokens) for text in texts]
        self._tokens = sum(gap_tokens for text in self._texts if text.shown.total_lines)
        # How many of them are at the ends.
        self._end_tokens = 0
        self._kinds: Counter[str] = Counter()
        self._repeats: Counter[int] = Counter()
        # Entries: minus the density, a number for the order of equal ones, and the offer.
        self._heap: list[tuple[float, int, Offer]] = []
        self._order = count()

    def made(self) -> tuple[Ranges, ...]:
        """Make the choice."""
        self._show_first_and_last()
        for text in self._texts:
            for unit in text.findings.units:
                if unit.explains < 0:
                    tokens = text.cost(unit.first_line, unit.end_line) + self._gap
                    self._push(Offer(text, unit.first_line, unit.end_line, unit.value, unit), tokens)
            for is_tail in (True, False):
                self._grow(GrowingEnd(text, self._limit, is_tail=is_tail))
        while self._heap:
            negative, _, offer = heappop(self._heap)
            if offer.growing:
                self._take_end(offer, offer.growing)
            else:
                self._take(offer, -negative)
        return tuple(text.shown.ranges() for text in self._texts)

    def _show_first_and_last(self) -> None:
        most = self._tokens + int((self._limit - self._tokens) * ENDS_SHARE)
        for text in self._texts:
            lines = text.shown.total_lines
            for line in dict.fromkeys((lines - 1, 0) if lines else ()):
                price = text.shown.price(line, line + 1)
                if self._tokens + price <= most:
                    self._show(text, line, line + 1, price)

    def _show(self, text: TextChoice, first: int, end: int, price: int) -> None:
        text.shown.add(first, end)
        self._tokens += price

    def _push(self, offer: Offer, tokens: int) -> None:
        density = offer.value / (tokens + BASE_TOKENS) ** COST_POWER
        heappush(self._heap, (-density, next(self._order), offer))

    def _grow(self, end: GrowingEnd, *, single: bool = False) -> None:
        offer = end.next_offer(single=single)
        if offer:
            density = end.density_of(offer)
            is_late = self._end_tokens > self._limit * ENDS_SHARE
            if is_late and offer.text.findings.sameness > PROSE_SAMENESS:
                density *= LATE_SHARE
            heappush(self._heap, (-density, next(self._order), offer))

    def _take_end(self, offer: Offer, end: GrowingEnd) -> None:
        """Show the next lines of an end, if they are still hidden and affordable."""
        shown = offer.text.shown
        if not shown.overlaps(offer.first, offer.end):
            price = shown.price(offer.first, offer.end)
            if self._tokens + price <= self._limit:
                self._show(offer.text, offer.first, offer.end, price)
                end.spent_tokens += max(price, 0)
                self._end_tokens += max(price, 0)
            elif offer.end - offer.first > 1:
                self._grow(end, single=True)
                return
            else:
                return
        self._grow(end)

    def _take(self, offer: Offer, density: float) -> None:
        """Show what is offered, or put it back with what it is worth now."""
        text, first, end = offer.text, offer.first, offer.end
        if text.shown.end_of(first) < end:
            price = text.shown.price(first, end)
            if self._tokens + price > self._limit:
                return
            value = offer.value / self._loss(text, offer.unit)
            tokens = max(price, 0) + BASE_TOKENS
            if value / tokens**COST_POWER < density * 0.999:
                heappush(self._heap, (-value / tokens**COST_POWER, next(self._order), offer))
                return
            self._show(text, first, end, price)
            self._offer_gaps(text, first)
        if offer.unit:
            self._after(text, offer.unit)

    def _loss(self, text: TextChoice, unit: Unit | None) -> float:
        """Return by what the value of a unit is divided, because of what is shown already."""
        if unit is None or unit.kind == ASKED_FOR:
            return 1.0
        loss = 1.0
        if unit.kind not in LASTING:
            loss += KIND_LOSS * self._kinds[unit.kind]
        if unit.group and unit.kind not in PARTS:
            loss *= 1 + GROUP_LOSS * text.groups[unit.group]
        if unit.repeat:
            loss *= 1 + REPEAT_LOSS * self._repeats[unit.repeat]
        return loss

    def _after(self, text: TextChoice, unit: Unit) -> None:
        """Count a unit that is shown, and offer the lines that explain it."""
        self._kinds[unit.kind] += 1
        text.groups[unit.group] += 1
        self._repeats[unit.repeat] += 1
        for other in text.explaining.get(unit.first_line, ()):
            self._offer(text, other.first_line, other.value, other)
        about_end = min(unit.about_end, unit.end_line + FARTHEST_LINES)
        about_first = max(unit.about_first, unit.first_line - FARTHEST_LINES)
        for distance, line in enumerate(range(unit.end_line, about_end)):
            self._offer(text, line, unit.value * AFTER_SHARE / (1 + DISTANCE_LOSS * distance))
        for distance, line in enumerate(range(unit.first_line - 1, about_first - 1, -1)):
            self._offer(text, line, unit.value * BEFORE_SHARE / (1 + DISTANCE_LOSS * distance))

    def _offer(self, text: TextChoice, line: int, value: float, unit: Unit | None = None) -> None:
        if not text.shown.has(line):
            self._push_if_affordable(Offer(text, line, line + 1, value, unit))

    def _offer_gaps(self, text: TextChoice, line: int) -> None:
        """Offer to fill the gaps on both sides of a line that is shown, if they hide little."""
        small = SMALL_GAPS * self._gap
        for first, end in text.shown.gaps_around(line):
            # Only a few lines can hide so little: the others are not counted.
            is_short = 0 < first < end < text.shown.total_lines and end - first <= small
            if is_short and text.cost(first, end) <= small:
                self._push_if_affordable(Offer(text, first, end, FILL_VALUE))

    def _push_if_affordable(self, offer: Offer) -> None:
        price = max(offer.text.shown.price(offer.first, offer.end), 0)
        if self._tokens + price <= self._limit:
            self._push(offer, price)


class ShownLines:
    """Ranges of lines, in order, with a gap between them."""

    def __init__(self, total_lines: int, cost: Cost, gap_tokens: int) -> None:
        self.total_lines = total_lines
        self._cost = cost
        self._gap_tokens = gap_tokens
        self._firsts: list[int] = []
        self._ends: list[int] = []

    def price(self, first: int, end: int) -> int:
        """Return by how many tokens the answer grows if these lines are shown too."""
        begin = bisect_right(self._ends, first - 1)
        stop, place, price = begin, first, 0
        count = len(self._firsts)
        while stop < count and self._firsts[stop] <= end:
            if self._firsts[stop] > place:
                price += self._cost(place, self._firsts[stop])
            place = max(place, self._ends[stop])
            stop += 1
        if place < end:
            price += self._cost(place, end)
        # The neighbours on both sides, and how many gaps are between them, now and then.
        left = self._ends[begin - 1] if begin else 0
        right = self._firsts[stop] if stop < count else self.total_lines
        if begin == stop:
            gaps = (left < first) + (end < right) - 1
        else:
            old_first, old_end = self._firsts[begin], self._ends[stop - 1]
            gaps = (left < min(first, old_first)) + (max(end, old_end) < right)
            gaps -= (left < old_first) + (old_end < right) + stop - begin - 1
        return price + gaps * self._gap_tokens

    def add(self, first: int, end: int) -> None:
        """Show these lines too."""
        begin = bisect_right(self._ends, first - 1)
        stop = begin
        while stop < len(self._firsts) and self._firsts[stop] <= end:
            first = min(first, self._firsts[stop])
            end = max(end, self._ends[stop])
            stop += 1
        self._firsts[begin:stop] = [first]
        self._ends[begin:stop] = [end]

    def end_of(self, line: int) -> int:
        """Return the end of the range that a line is shown in; the line itself if it is not shown."""
        place = bisect_right(self._firsts, line) - 1
        return max(line, self._ends[place]) if place >= 0 else line

    def first_of(self, line: int) -> int:
        """Return the beginning of the range that a line is shown in; the line after it if it is not shown."""
        place = bisect_right(self._firsts, line) - 1
        return self._firsts[place] if place >= 0 and line < self._ends[place] else line + 1

    def gaps_around(self, line: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the gaps before and after the range that a line is shown in; they may be empty."""
        place = bisect_right(self._firsts, line) - 1
        left = self._ends[place - 1] if place else 0
        right = self._firsts[place + 1] if place + 1 < len(self._firsts) else self.total_lines
        return (left, self._firsts[place]), (self._ends[place], right)

    def overlaps(self, first: int, end: int) -> bool:
        """Return whether one of these lines is shown."""
        place = bisect_right(self._ends, first)
        return place < len(self._firsts) and self._firsts[place] < end

    def has(self, line: int) -> bool:
        return self.end_of(line) > line

    def ranges(self) -> tuple[tuple[int, int], ...]:
        return tuple(zip(self._firsts, self._ends, strict=True))
