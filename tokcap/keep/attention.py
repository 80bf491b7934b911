"""Divide a limit over the lines of one or more texts: failures, both ends, structure, and what is rare.

Units have a value and a cost in tokens. The unit with the most value for its cost is shown next; the more of
its kind are shown, the less it is worth. The ends compete with them, so that none of them takes all.
"""

from __future__ import annotations

# The engine of `heapq`, without its module.
from _heapq import heapify, heappop, heappush

from tokcap.keep.shown_lines import ShownLines
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.findings.found import Findings
    from tokcap.keep.shown_lines import Cost

    Ranges = tuple[tuple[int, int], ...]

# How much the cost counts: 1 for value per token, 0 for value alone.
COST_POWER = 0.95
# Tokens that every unit seems to cost in addition, so that short lines are not preferred too much.
BASE_TOKENS = 40
# The value of a line at an end after a failure and after a success, and the share of the limit after which it
# is worth half.
TAIL_VALUES, TAIL_SHARE = (5.0, 4.0), 0.025
HEAD_VALUES, HEAD_SHARE = (6.0, 4.5), 0.025
# Lines at an end are shown together if they cost at most one of so many parts of the limit.
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
# A gap that hides at most so many times what it costs can be filled, and what that is worth.
SMALL_GAPS, FILL_VALUE = 3, 1.0
# How much of the limit the first and the last line may take together.
ENDS_SHARE = 0.25


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


class End:
    """One end of a text, which grows line by line."""

    def __init__(self, text: Text, shown: ShownLines, limit_tokens: int, *, is_tail: bool) -> None:
        values, share = (TAIL_VALUES, TAIL_SHARE) if is_tail else (HEAD_VALUES, HEAD_SHARE)
        self.shown = shown
        self._text = text
        self._is_tail = is_tail
        self._value = values[0] if text.findings.failed else values[1]
        self._half_tokens = share * limit_tokens + 1
        self._spent = 0
        self._step_tokens = limit_tokens // STEP_SHARE
        # The lines that are shown next.
        self.first = shown.total_lines if is_tail else 0
        self.end = self.first
        self.density = 0.0
        self.find_next()

    def find_next(self, *, single: bool = False) -> None:
        """Go to the next lines that are not shown: some, if they cost little, or a single one."""
        shown, cost = self.shown, self._text.cost
        if self._is_tail:
            end = shown.first_of(self.end - 1) if self.end else 0
            first = end - 1
            while (
                not single
                and first > 0
                and cost(first - 1, end) <= self._step_tokens
                and not shown.has(first - 1)
            ):
                first -= 1
        else:
            first = shown.end_of(self.first)
            end = first + 1
            while (
                not single
                and end < shown.total_lines
                and cost(first, end + 1) <= self._step_tokens
                and not shown.has(end)
            ):
                end += 1
        self.first, self.end = first, end
        if first < 0 or end > shown.total_lines:
            self.density = 0.0
            return
        worth = self._value / (1 + self._spent / self._half_tokens)
        neighbour = end if self._is_tail else first
        if self._text.findings.are_similar(neighbour, neighbour + 1):
            worth *= SIMILAR_SHARE
        # Never quite nothing: the ends fill what nothing else wants.
        tokens = cost(first, end) / (end - first) + BASE_TOKENS
        self.density = max(worth, 1e-9) / tokens**COST_POWER

    def take(self, price: int) -> None:
        self._spent += max(price, 0)


class Choice:
    """A choice in progress."""

    def __init__(self, texts: Sequence[Text], limit_tokens: int, gap_tokens: int) -> None:
        self._texts = texts
        self._limit = limit_tokens
        self._gap = gap_tokens
        self._shown = [ShownLines(text.findings.total_lines, text.cost, gap_tokens) for text in texts]
        self._tokens = sum(gap_tokens for shown in self._shown if shown.total_lines)
        self._kinds: dict[str, int] = {}
        self._groups: dict[tuple[int, int], int] = {}
        self._repeats: dict[int, int] = {}
        # Entries: minus the density, a number for the order, text, first and end line, value, unit or -1.
        self._heap: list[tuple[float, int, int, int, int, float, int]] = []
        self._order = 0

    def made(self) -> tuple[Ranges, ...]:
        """Make the choice."""
        self._show_first_and_last()
        self._gather()
        ends = [
            End(text, shown, self._limit, is_tail=is_tail)
            for text, shown in zip(self._texts, self._shown, strict=True)
            for is_tail in (True, False)
        ]
        heap = self._heap
        while ends or heap:
            best = max(ends, key=density_of, default=None)
            if best is not None and not best.density:
                ends = [end for end in ends if end.density]
                best = max(ends, key=density_of, default=None)
            if heap and (best is None or -heap[0][0] >= best.density):
                if self._take_unit():
                    for end in ends:
                        if end.shown.overlaps(end.first, end.end):
                            end.find_next()
            elif best is not None:
                price = best.shown.price(best.first, best.end)
                if self._tokens + price <= self._limit:
                    self._show(best.shown, best.first, best.end, price)
                    best.take(price)
                    for end in ends:
                        if end.shown.overlaps(end.first, end.end):
                            end.find_next()
                elif best.end - best.first > 1:
                    best.find_next(single=True)
                else:
                    ends.remove(best)
        return tuple(shown.ranges() for shown in self._shown)

    def _show_first_and_last(self) -> None:
        most = self._tokens + int((self._limit - self._tokens) * ENDS_SHARE)
        for shown in self._shown:
            for line in dict.fromkeys((shown.total_lines - 1, 0) if shown.total_lines else ()):
                price = shown.price(line, line + 1)
                if self._tokens + price <= most:
                    self._show(shown, line, line + 1, price)

    def _gather(self) -> None:
        """Put all units that stand for themselves into the heap."""
        self._explaining: dict[tuple[int, int], list[int]] = {}
        for number, text in enumerate(self._texts):
            for index, unit in enumerate(text.findings.units):
                if unit.explains >= 0:
                    self._explaining.setdefault((number, unit.explains), []).append(index)
                    continue
                tokens = text.cost(unit.first_line, unit.end_line) + self._gap + BASE_TOKENS
                self._order += 1
                self._heap.append(
                    (
                        -unit.value / tokens**COST_POWER,
                        self._order,
                        number,
                        unit.first_line,
                        unit.end_line,
                        unit.value,
                        index,
                    )
                )
        heapify(self._heap)

    def _take_unit(self) -> bool:
        """Take the best unit, or put it back with what it is worth now. Return whether lines were added."""
        density, _, number, first, end, value, index = heappop(self._heap)
        shown = self._shown[number]
        price = shown.price(first, end)
        is_new = not (shown.has(first) and shown.end_of(first) >= end)
        if is_new:
            if self._tokens + price > self._limit:
                return False
            worth = value / self._loss(number, index)
            actual = worth / (max(price, 0) + BASE_TOKENS) ** COST_POWER
            if actual < -density * 0.999:
                self._order += 1
                heappush(self._heap, (-actual, self._order, number, first, end, value, index))
                return False
            self._show(shown, first, end, price)
            self._offer_gaps(number, first)
        if index >= 0:
            self._after(number, index)
        return is_new

    def _offer_gaps(self, number: int, line: int) -> None:
        """Offer to fill the gaps on both sides of a line that is shown, if they hide little."""
        shown = self._shown[number]
        small = SMALL_GAPS * self._gap
        for first, end in shown.gaps_around(line):
            # Only a few lines can hide so little: the others are not counted.
            if 0 < first < end < shown.total_lines and end - first <= small:
                hidden = self._texts[number].cost(first, end)
                if hidden <= small:
                    self._push(number, first, end, FILL_VALUE, -1)

    def _show(self, shown: ShownLines, first: int, end: int, price: int) -> None:
        shown.add(first, end)
        self._tokens += price

    def _loss(self, number: int, index: int) -> float:
        """Return by what the value of a unit is divided, because of what is shown already."""
        if index < 0:
            return 1.0
        unit = self._texts[number].findings.units[index]
        if unit.kind == ASKED_FOR:
            return 1.0
        loss = 1.0
        if unit.kind not in LASTING:
            loss += KIND_LOSS * self._kinds.get(unit.kind, 0)
        if unit.group and unit.kind not in PARTS:
            loss *= 1 + GROUP_LOSS * self._groups.get((number, unit.group), 0)
        if unit.repeat:
            loss *= 1 + REPEAT_LOSS * self._repeats.get(unit.repeat, 0)
        return loss

    def _after(self, number: int, index: int) -> None:
        """Count a unit that is shown, and offer the lines that explain it."""
        units = self._texts[number].findings.units
        unit = units[index]
        self._kinds[unit.kind] = self._kinds.get(unit.kind, 0) + 1
        self._groups[number, unit.group] = self._groups.get((number, unit.group), 0) + 1
        self._repeats[unit.repeat] = self._repeats.get(unit.repeat, 0) + 1
        for other in self._explaining.get((number, unit.first_line), ()):
            self._offer(number, units[other].first_line, units[other].value, other)
        about_end = min(unit.about_end, unit.end_line + FARTHEST_LINES)
        about_first = max(unit.about_first, unit.first_line - FARTHEST_LINES)
        for distance, line in enumerate(range(unit.end_line, about_end)):
            self._offer(number, line, unit.value * AFTER_SHARE / (1 + DISTANCE_LOSS * distance))
        for distance, line in enumerate(range(unit.first_line - 1, about_first - 1, -1)):
            self._offer(number, line, unit.value * BEFORE_SHARE / (1 + DISTANCE_LOSS * distance))

    def _offer(self, number: int, line: int, value: float, index: int = -1) -> None:
        if not self._shown[number].has(line):
            self._push(number, line, line + 1, value, index)

    def _push(self, number: int, first: int, end: int, value: float, index: int) -> None:
        price = max(self._shown[number].price(first, end), 0)
        if self._tokens + price <= self._limit:
            density = value / (price + BASE_TOKENS) ** COST_POWER
            self._order += 1
            heappush(self._heap, (-density, self._order, number, first, end, value, index))


def density_of(end: End) -> float:
    return end.density
