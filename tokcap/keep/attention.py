"""Divide a limit over the lines of a text: failures, both ends, structure, and what is rare.

Units have a value and a cost in tokens. The unit with the most value for its cost is shown next; the more of its
kind are shown, the less it is worth. Both ends grow together with them, so that neither is lost.
"""

from __future__ import annotations

from bisect import bisect_right
from heapq import heapify, heappop, heappush

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcap.findings.found import Findings

    Cost = Callable[[int, int], int]

# Tokens that every unit seems to cost in addition, so that short lines are not preferred too much.
BASE_TOKENS = 15
# The value of a line at an end, and the share of the limit after which it is worth half.
TAIL_VALUE, TAIL_SHARE = 8.0, 0.06
HEAD_VALUE, HEAD_SHARE = 5.0, 0.05
# A further unit of the same group, and of the same kind.
GROUP_LOSS, KIND_LOSS = 1.2, 0.12
# Kinds whose units look alike, but are different parts of the text.
PARTS = frozenset(("heading", "definition", "hunk"))
# How much the cost counts: 1 for value per token, 0 for value alone.
COST_POWER = 0.75
# Lines that explain a unit: the share of its value, less for each line of distance.
AFTER_SHARE, BEFORE_SHARE, DISTANCE_LOSS = 0.35, 0.12, 0.35


class Shown:
    """The ranges of lines that are shown, and what they cost together with the gaps."""

    def __init__(self, total_lines: int, cost: Cost, gap_tokens: int) -> None:
        self._total = total_lines
        self._cost = cost
        self._gap = gap_tokens
        self.firsts: list[int] = []
        self.ends: list[int] = []
        self.tokens = gap_tokens if total_lines else 0

    def price(self, first: int, end: int) -> int:
        """Return by how many tokens the answer grows if these lines are shown too."""
        begin = bisect_right(self.ends, first - 1)
        place, price, gaps = first, 0, 0
        stop = begin
        while stop < len(self.firsts) and self.firsts[stop] <= end:
            if self.firsts[stop] > place:
                price += self._cost(place, self.firsts[stop])
            place = max(place, self.ends[stop])
            stop += 1
        if place < end:
            price += self._cost(place, end)
        new_first = min(first, self.firsts[begin]) if begin < stop else first
        new_end = max(end, self.ends[stop - 1]) if begin < stop else end
        # Gaps in the part from `new_first` to `new_end`, before and after.
        before = stop - begin - 1 if stop > begin else 0
        if begin == stop:
            # Inside one gap: it may be split, shortened or filled.
            left = self.ends[begin - 1] if begin else 0
            right = self.firsts[begin] if begin < len(self.firsts) else self._total
            gaps = (left < new_first) + (new_end < right) - 1
            return price + gaps * self._gap
        left = self.ends[begin - 1] if begin else 0
        right = self.firsts[stop] if stop < len(self.firsts) else self._total
        old = before + (left < self.firsts[begin]) + (self.ends[stop - 1] < right)
        return price + ((left < new_first) + (new_end < right) - old) * self._gap

    def add(self, first: int, end: int) -> None:
        self.tokens += self.price(first, end)
        begin = bisect_right(self.ends, first - 1)
        stop = begin
        while stop < len(self.firsts) and self.firsts[stop] <= end:
            first = min(first, self.firsts[stop])
            end = max(end, self.ends[stop])
            stop += 1
        self.firsts[begin:stop] = [first]
        self.ends[begin:stop] = [end]

    def has(self, line: int) -> bool:
        place = bisect_right(self.firsts, line) - 1
        return place >= 0 and line < self.ends[place]


def choose(
    findings: Findings, limit_tokens: int, cost: Cost, gap_tokens: int = 12
) -> tuple[tuple[int, int], ...]:
    """Return the ranges of lines to show, in order.

    `cost` gives the tokens of a range of lines. The ranges and a gap of `gap_tokens` for each part between them
    cost at most `limit_tokens`.
    """
    total = findings.total_lines
    if not total:
        return ()
    shown = Shown(total, cost, gap_tokens)
    units = findings.units
    kinds: dict[str, int] = {}
    groups: dict[int, int] = {}
    # Entries: minus the density, a number for the order, first and end line, value, index of the unit or -1.
    heap: list[tuple[float, int, int, int, float, int]] = []
    order = 0

    def loss(index: int) -> float:
        unit = units[index]
        if unit.kind in ("place", "outlier"):
            return 1.0
        again = groups.get(unit.group, 0) if unit.group and unit.kind not in PARTS else 0
        return (1 + GROUP_LOSS * again) * (1 + KIND_LOSS * kinds.get(unit.kind, 0))

    for index, unit in enumerate(units):
        if unit.explains >= 0:
            continue
        tokens = cost(unit.first_line, unit.end_line) + gap_tokens + BASE_TOKENS
        heap.append(
            (-unit.value / tokens**COST_POWER, index, unit.first_line, unit.end_line, unit.value, index)
        )
    order = len(units)
    heapify(heap)
    explaining: dict[int, list[int]] = {}
    for index, unit in enumerate(units):
        if unit.explains >= 0:
            explaining.setdefault(unit.explains, []).append(index)

    head, tail = 0, total
    head_spent = tail_spent = 0

    def push(first: int, end: int, value: float, index: int = -1) -> None:
        nonlocal order
        price = shown.price(first, end) + BASE_TOKENS
        order += 1
        heappush(heap, (-value / max(price, 1) ** COST_POWER, order, first, end, value, index))

    def end_density(value: float, spent: int, share: float) -> float:
        return value * 0.5 ** (spent / (share * limit_tokens + 1))

    # Both ends first, if they do not take too much.
    for first in (0, total - 1):
        if shown.tokens + shown.price(first, first + 1) <= limit_tokens // 2 + gap_tokens and not shown.has(
            first
        ):
            shown.add(first, first + 1)
    while True:
        # The next line at either end competes with the best unit.
        while head < total and shown.has(head):
            head += 1
        while tail > 0 and shown.has(tail - 1):
            tail -= 1
        if head >= tail:
            break
        choices = []
        for is_tail in (True, False):
            line = tail - 1 if is_tail else head
            price = shown.price(line, line + 1)
            worth = (
                end_density(TAIL_VALUE, tail_spent, TAIL_SHARE)
                if is_tail
                else end_density(HEAD_VALUE, head_spent, HEAD_SHARE)
            )
            if shown.tokens + price <= limit_tokens:
                choices.append((worth / (max(price, 0) + BASE_TOKENS) ** COST_POWER, is_tail, line, price))
        best_end = max(choices) if choices else None
        taken = False
        while heap:
            density, _, first, end, value, index = heap[0]
            if best_end and -density < best_end[0]:
                break
            heappop(heap)
            price = shown.price(first, end)
            if price <= 0 and shown.has(first) and shown.has(end - 1):
                taken = True
            else:
                actual = (
                    value / (loss(index) if index >= 0 else 1.0) / (max(price, 1) + BASE_TOKENS) ** COST_POWER
                )
                if actual < -density * 0.999:
                    order += 1
                    heappush(heap, (-actual, order, first, end, value, index))
                    continue
                if shown.tokens + price > limit_tokens:
                    continue
                shown.add(first, end)
                taken = True
            if index >= 0:
                unit = units[index]
                groups[unit.group] = groups.get(unit.group, 0) + 1
                kinds[unit.kind] = kinds.get(unit.kind, 0) + 1
                worth = unit.value
                for other in explaining.get(unit.first_line, ()):
                    push(units[other].first_line, units[other].end_line, units[other].value, other)
                for distance, line in enumerate(range(unit.end_line, unit.about_end)):
                    push(line, line + 1, worth * AFTER_SHARE / (1 + DISTANCE_LOSS * distance))
                for distance, line in enumerate(range(unit.first_line - 1, unit.about_first - 1, -1)):
                    push(line, line + 1, worth * BEFORE_SHARE / (1 + DISTANCE_LOSS * distance))
            break
        if taken:
            continue
        if not best_end:
            if not heap:
                break
            continue
        _, is_tail, line, price = best_end
        shown.add(line, line + 1)
        if is_tail:
            tail_spent += max(price, 0)
        else:
            head_spent += max(price, 0)
    return tuple(zip(shown.firsts, shown.ends, strict=True))
