"""Find the lines in which two texts differ, and write them with context and gaps. Nothing is read here.

Where texts differ much or repeat themselves, the result is right, but longer than necessary.
"""

from __future__ import annotations

from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Lines around a change that are shown although they are the same.
CONTEXT_LINES = 2
# A gap that hides fewer lines costs more than they do.
LEAST_HIDDEN_LINES = 3
# Of a long run of removed lines, the first and the last ones are shown.
REMOVED_ENDS = 2
# More pairs of equal lines are not compared one by one.
MOST_PAIRS = 500_000
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
    """Return what differs between the first and the last lines that are the same."""
    start, old_end, new_end = 0, len(old), len(new)
    while start < min(old_end, new_end) and old[start] == new[start]:
        start += 1
    while start < min(old_end, new_end) and old[old_end - 1] == new[new_end - 1]:
        old_end, new_end = old_end - 1, new_end - 1
    if start in (old_end, new_end):
        return [Change(start, old_end, start, new_end)] if old_end != new_end else []
    # Most calls compare nothing, and do not load this.
    from collections import Counter
    from difflib import SequenceMatcher

    old_part, new_part = old[start:old_end], new[start:new_end]
    counts = Counter(new_part)
    if sum(counts[line] for line in old_part) > MOST_PAIRS:
        return [Change(start, old_end, start, new_end)]
    return [
        Change(start + first, start + end, start + new_first, start + new_last)
        for tag, first, end, new_first, new_last in SequenceMatcher(None, old_part, new_part).get_opcodes()
        if tag != "equal"
    ]
