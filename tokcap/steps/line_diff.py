"""Find the lines in which two texts differ, and write them with context and gaps. Nothing is read here.

Time and memory are bounded: where texts differ much, the result is right, but longer than necessary.
"""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Lines around a change that are shown although they are the same.
CONTEXT_LINES = 2
# A gap that hides fewer lines costs more than they do.
LEAST_HIDDEN_LINES = 3
# Of a long run of removed lines, the first and the last ones are shown.
REMOVED_ENDS = 2
# How many lines without anchor are compared with how many: the product, for one region and for all.
REGION_CELLS, ALL_CELLS = 250_000, 1_000_000
# How often a region is divided at lines that are unique in it.
MOST_DIVISIONS = 32
NO_NEWLINE = b"\\ no newline at the end\n"


class Change(Record):
    """Lines `old_start` to `old_end` of one text are replaced by `new_start` to `new_end` of the other."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


class Comparison(Record):
    """Two texts as lines, and the changes from one to the other, in order."""

    old: Sequence[bytes]
    new: Sequence[bytes]
    changes: Sequence[Change]

    @property
    def added(self) -> int:
        return sum(change.new_end - change.new_start for change in self.changes)

    @property
    def removed(self) -> int:
        return sum(change.old_end - change.old_start for change in self.changes)

    def written(self) -> bytes:
        """Return the changes as text: one character says what becomes of a line, `…` begins a gap.

        The old text and this text together give back the new text.
        """
        return b"".join(self._lines())

    def _lines(self) -> Iterator[bytes]:
        place = 0
        for number, change in enumerate(self.changes):
            yield from self._same(place, change.old_start, is_first=number == 0)
            yield from self._removed(change.old_start, change.old_end)
            for line in self.new[change.new_start : change.new_end]:
                yield shown(b"+", line)
            place = change.old_end
        yield from self._same(place, len(self.old), is_first=not self.changes, is_last=True)

    def _same(self, start: int, end: int, *, is_first: bool, is_last: bool = False) -> Iterator[bytes]:
        """Yield lines of the old text that did not change: those near a change, and a gap for the others."""
        before = 0 if is_first else CONTEXT_LINES
        after = 0 if is_last else CONTEXT_LINES
        hidden = end - start - before - after
        if hidden < LEAST_HIDDEN_LINES:
            before, after, hidden = end - start, 0, 0
        for line in self.old[start : start + before]:
            yield shown(b" ", line)
        if hidden:
            yield f"… {hidden} lines the same …\n".encode()
        for line in self.old[end - after : end]:
            yield shown(b" ", line)

    def _removed(self, start: int, end: int) -> Iterator[bytes]:
        hidden = end - start - 2 * REMOVED_ENDS
        ends = REMOVED_ENDS if hidden >= LEAST_HIDDEN_LINES else end - start
        for line in self.old[start : start + ends]:
            yield shown(b"-", line)
        if hidden >= LEAST_HIDDEN_LINES:
            yield f"… {hidden} lines removed …\n".encode()
            for line in self.old[end - ends : end]:
                yield shown(b"-", line)


def shown(sign: bytes, line: bytes) -> bytes:
    """Return a line after its sign. A text may end without a newline."""
    return sign + line if line.endswith(b"\n") else sign + line + b"\n" + NO_NEWLINE


def lines_of(data: bytes) -> list[bytes]:
    """Return the lines with their ends. Only a newline ends a line."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def compare(old: bytes, new: bytes) -> Comparison:
    """Find the changes that lead from one text to the other."""
    old_lines, new_lines = lines_of(old), lines_of(new)
    return Comparison(old_lines, new_lines, changes_between(old_lines, new_lines))


def changes_between(old: Sequence[bytes], new: Sequence[bytes]) -> list[Change]:
    """Divide both texts at lines that are unique in both, and compare what is between them line by line."""
    found: list[Change] = []
    cells = ALL_CELLS
    regions = [(Change(0, len(old), 0, len(new)), 0)]
    while regions:
        region, divisions = regions.pop()
        region = without_same_ends(old, new, region)
        old_count, new_count = region.old_end - region.old_start, region.new_end - region.new_start
        if not old_count and not new_count:
            continue
        anchors: list[tuple[int, int]] = []
        if old_count and new_count and divisions < MOST_DIVISIONS:
            anchors = anchors_in(old, new, region)
        if anchors:
            regions += [(part, divisions + 1) for part in divided(region, anchors)]
        elif old_count and new_count and old_count * new_count <= min(REGION_CELLS, cells):
            cells -= old_count * new_count
            found += compared_by_line(old, new, region)
        else:
            found.append(region)
    return sorted(found, key=lambda change: (change.old_start, change.new_start))


def without_same_ends(old: Sequence[bytes], new: Sequence[bytes], region: Change) -> Change:
    """Return the region without the lines at its ends that are the same."""
    old_start, new_start = region.old_start, region.new_start
    old_end, new_end = region.old_end, region.new_end
    while old_start < old_end and new_start < new_end and old[old_start] == new[new_start]:
        old_start, new_start = old_start + 1, new_start + 1
    while old_start < old_end and new_start < new_end and old[old_end - 1] == new[new_end - 1]:
        old_end, new_end = old_end - 1, new_end - 1
    return Change(old_start, old_end, new_start, new_end)


def anchors_in(old: Sequence[bytes], new: Sequence[bytes], region: Change) -> list[tuple[int, int]]:
    """Return pairs of places of lines that are unique in both texts, as many as have the same order."""
    old_places = unique_places(old, region.old_start, region.old_end)
    new_places = unique_places(new, region.new_start, region.new_end)
    pairs = [
        (place, new_place)
        for line, place in old_places.items()
        if (new_place := new_places.get(line)) is not None
    ]
    return longest_rising(pairs)


def unique_places(lines: Sequence[bytes], start: int, end: int) -> dict[bytes, int]:
    """Return where each line is that occurs only once, in order."""
    places: dict[bytes, int] = {}
    repeated: set[bytes] = set()
    for place in range(start, end):
        if places.setdefault(lines[place], place) != place:
            repeated.add(lines[place])
    return {line: place for line, place in places.items() if line not in repeated}


def longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest part of the pairs in which the second number rises, as the first one does."""
    from bisect import bisect_left

    # The smallest last number of a part of each length, and the pair that has it.
    lasts: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(lasts, place)
        before.append(ends[length - 1] if length else -1)
        lasts[length : length + 1] = [place]
        ends[length : length + 1] = [number]
    chosen = []
    number = ends[-1] if ends else -1
    while number >= 0:
        chosen.append(pairs[number])
        number = before[number]
    return chosen[::-1]


def divided(region: Change, anchors: Sequence[tuple[int, int]]) -> Iterator[Change]:
    """Yield the parts of a region between its anchors. Most anchors have nothing between them."""
    old_start, new_start = region.old_start, region.new_start
    for old_place, new_place in anchors:
        if old_start < old_place or new_start < new_place:
            yield Change(old_start, old_place, new_start, new_place)
        old_start, new_start = old_place + 1, new_place + 1
    yield Change(old_start, region.old_end, new_start, region.new_end)


def compared_by_line(old: Sequence[bytes], new: Sequence[bytes], region: Change) -> Iterator[Change]:
    """Yield the changes in a region such that as many lines as possible stay the same."""
    old_lines = old[region.old_start : region.old_end]
    new_lines = new[region.new_start : region.new_end]
    # For each pair of places, how many lines can stay the same from there on.
    same = [[0] * (len(new_lines) + 1) for _ in range(len(old_lines) + 1)]
    for i in range(len(old_lines) - 1, -1, -1):
        row, below, line = same[i], same[i + 1], old_lines[i]
        for j in range(len(new_lines) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if line == new_lines[j] else max(below[j], row[j + 1])
    i = j = 0
    while i < len(old_lines) or j < len(new_lines):
        first_i, first_j = i, j
        while i < len(old_lines) and j < len(new_lines) and old_lines[i] != new_lines[j]:
            if same[i + 1][j] >= same[i][j + 1]:
                i += 1
            else:
                j += 1
        if i == len(old_lines) or j == len(new_lines):
            i, j = len(old_lines), len(new_lines)
        if (first_i, first_j) != (i, j):
            yield Change(
                region.old_start + first_i,
                region.old_start + i,
                region.new_start + first_j,
                region.new_start + j,
            )
        while i < len(old_lines) and j < len(new_lines) and old_lines[i] == new_lines[j]:
            i, j = i + 1, j + 1
