"""Read a text once, in blocks, and find what matters in it. Memory does not grow with the text.

Every chunking of the text gives the same findings. Only the beginning of a very long line is examined.
"""

from __future__ import annotations

from tokcap.findings.examine import Examination
from tokcap.findings.found import Findings, Found
from tokcap.findings.weigh import weigh
from tokcap.findings.words import HEX_DIGITS
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from types import ModuleType

    from tokcap.findings.draft import Draft

BLOCK_BYTES = 1 << 19
# Of a text up to this size, every line is examined together with the lines around it. Of a longer one, only
# so much of both ends is; in between, the first lines of each new kind are examined by themselves.
EXAMINED_BYTES = 1 << 20
END_BYTES = 1 << 19
# Of a text that is known to be larger than the first number, the second one of each end.
HUGE_BYTES, HUGE_END_BYTES = 16 << 20, 1 << 16
# Compiled code reads a text of this size or more.
LARGE_BYTES = 1 << 18
# Only this much of a line is examined.
LINE_BYTES = 1 << 13
MOST_CANDIDATES = 4000
# In a block that is not examined completely: at most so many lines. So many kinds of lines are remembered.
MOST_NEW, MOST_MASKS = 300, 50_000
# If there are more new lines than that, those with one of these words are examined: so many for each word.
PLAIN_FAILURES = (
    *(b"rror", b"ERR", b"atal", b"FATAL", b"ailed", b"FAIL", b"ailure", b"xception", b"panic", b"CRIT"),
    *(b"critical", b"denied", b"efused", b"timed out", b"abort", b"segfault", b"orrupt", b"unreachable"),
)
MOST_PLAIN = 20
MOST_REPEATS = 2000
LEAST_REPEATED = 3
LEAST_EQUAL = b"\1" * (LEAST_REPEATED - 1)
MOST_FOUND = 20
# The kinds that `found` lists.
FAILURES = frozenset(("interest", "crash", "summary", "error", "failed", "trouble"))


class Survey:
    """Collects findings while a text is read. `size_bytes` is its size, if that is known."""

    def __init__(
        self,
        failed: bool | None,
        interest: str = "",
        most_candidates: int = MOST_CANDIDATES,
        size_bytes: int = 0,
    ) -> None:
        self._failed = failed
        self._most = most_candidates
        self._examination = Examination(interest)
        self._has_interest = bool(interest)
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        # Whether what comes next is the rest of a line that is not examined.
        self._is_inside_line = False
        self._is_long = False
        self._end_bytes = HUGE_END_BYTES if size_bytes > HUGE_BYTES else END_BYTES
        self._lines = 0
        self._bytes = 0
        self._drafts: list[Draft] = []
        # Lines without hexadecimal digits, or their hashes if compiled code finds them.
        self._masks: set[bytes | int] = set()
        # Those of the last block, which are added when another one comes.
        self._new_masks: Collection[bytes | int] = ()
        self._compiled: ModuleType | None = None
        self._repeats: list[tuple[int, int]] = []
        self._places: list[tuple[int, int]] = []

    def feed(self, block: bytes) -> None:
        """Examine the next bytes of the text."""
        if self._is_inside_line:
            end = block.find(b"\n") + 1
            self._bytes += end or len(block)
            if not end:
                return
            self._is_inside_line = False
            block = block[end:]
        self._pending.append(block)
        self._pending_bytes += len(block)
        if self._pending_bytes <= (BLOCK_BYTES + self._end_bytes if self._is_long else EXAMINED_BYTES):
            return
        data = b"".join(self._pending)
        place, size = 0, len(data)
        if not self._is_long:
            self._is_long = True
            place = self._examine_from(data, 0, self._end_bytes, in_context=True)
        # The end is left for `finish`.
        while size - place > BLOCK_BYTES + self._end_bytes:
            place = self._examine_from(data, place, BLOCK_BYTES)
        self._pending = [data[place:]]
        self._pending_bytes = size - place

    def finish(self) -> Findings:
        """Return what was found. Nothing can be fed after that."""
        data = b"".join(self._pending)
        self._pending = []
        place, size = 0, len(data)
        if self._is_long:
            place = data.rfind(b"\n", 0, max(size - self._end_bytes, 0)) + 1
            if place:
                self._examine(data, 0, place)
        while size - place >= BLOCK_BYTES:
            place = self._examine_from(data, place, BLOCK_BYTES, in_context=True)
        if place < size:
            self._examine(data, place, size, in_context=True)
        units = weigh(self._drafts, self._examination, failed=self._failed, total_lines=self._lines)
        ranked = sorted(
            (unit for unit in units if unit.kind in FAILURES), key=lambda unit: (-unit.value, unit.first_line)
        )
        return Findings(
            total_lines=self._lines,
            units=tuple(units),
            found=tuple([Found(unit.first_line, unit.kind) for unit in ranked[:MOST_FOUND]]),
            failed=self._failed,
            repeats=tuple(self._repeats),
            places=tuple(self._places),
        )

    def _examine_from(self, data: bytes, place: int, most_bytes: int, *, in_context: bool = False) -> int:
        """Examine whole lines, of at most so many bytes. Return where the next line begins."""
        end = data.rfind(b"\n", place, place + most_bytes) + 1
        if end:
            self._examine(data, place, end, in_context=in_context)
            return end
        # Of a line that is longer, only the beginning is examined.
        end = data.find(b"\n", place + most_bytes) + 1
        self._is_inside_line = not end
        end = end or len(data)
        beginning = data[place : place + min(LINE_BYTES, most_bytes)] + b"\n"
        self._examine(beginning, 0, len(beginning), end - place, in_context=in_context)
        return end

    def _examine(
        self, data: bytes, start: int, stop: int, size_bytes: int = 0, *, in_context: bool = False
    ) -> None:
        """Examine a part that has whole lines: all of them `in_context`, or what is new among them.

        They stand for `size_bytes`, if that is more than they have.
        """
        self._places.append((self._lines, self._bytes))
        if not self._bytes and (self._is_long or stop - start >= LARGE_BYTES):
            from tokcap.findings.compiled import compiled_code

            self._compiled = compiled_code()
        self._masks.update(self._new_masks)
        self._new_masks = ()
        masks: Collection[bytes | int]
        if self._compiled:
            # No part has more lines than bytes: with enough repeats, list no more.
            least = LEAST_REPEATED if len(self._repeats) < MOST_REPEATS else stop - start + 1
            count, repeats, first_of = self._compiled.masks_of(data, start, stop, least, self._lines)
            masks = first_of
        else:
            masks = all_masks = masks_of(data[start:stop])
            count, repeats, first_of = len(masks), similar_ranges(all_masks, self._lines), None
        if len(self._repeats) < MOST_REPEATS:
            self._repeats += repeats
        if in_context:
            chosen: Sequence[int] = range(count)
        else:
            fresh = set(masks) - self._masks
            if fresh and first_of is None:
                first_of = dict(zip(reversed(all_masks), range(count - 1, -1, -1), strict=True))
            chosen = self._chosen_lines(data, start, stop, sorted([first_of[mask] for mask in fresh]))
        if chosen and len(self._masks) < MOST_MASKS:
            self._new_masks = masks
        if chosen:
            lines = data[start:stop].split(b"\n")
            self._drafts += self._examination.block(
                [lines[n][:LINE_BYTES] for n in chosen],
                [self._lines + n for n in chosen],
                in_context=len(chosen) == count,
            )
        if len(self._drafts) > 2 * self._most:
            self._drafts = most_promising(self._drafts, self._most)
        self._lines += count
        self._bytes += size_bytes or stop - start

    def _chosen_lines(self, data: bytes, start: int, stop: int, new: Sequence[int]) -> list[int]:
        """Return the lines that are examined: those with a new mask, and those that the caller looks for."""
        wanted = set(self._examination.interesting_lines(data[start:stop]) if self._has_interest else ())
        if len(new) > MOST_NEW:
            # Everything is new: take some from everywhere, and those that plainly say failure.
            wanted.update(lines_with(PLAIN_FAILURES, data[start:stop]))
            step = len(new) / MOST_NEW
            new = [new[int(n * step)] for n in range(MOST_NEW)]
        wanted.update(new)
        return sorted(wanted)


def lines_with(words: Sequence[bytes], block: bytes) -> Iterator[int]:
    """Yield the numbers of lines that contain one of the words, for each word the first ones."""
    for word in words:
        number = counted = 0
        place = block.find(word)
        for _ in range(MOST_PLAIN):
            if place < 0:
                break
            number += block.count(b"\n", counted, place)
            counted = place
            yield number
            end = block.find(b"\n", place)
            place = block.find(word, end) if end >= 0 else -1


def masks_of(block: bytes) -> list[bytes]:
    """Return the lines without hexadecimal digits."""
    masks = block.translate(None, HEX_DIGITS).split(b"\n")
    if block.endswith(b"\n"):
        masks.pop()
    return masks


def similar_ranges(masks: Sequence[bytes], number: int) -> list[tuple[int, int]]:
    """Return the ranges of at least three equal masks; the first mask is that of line `number`."""
    # For each line, whether the next one is equal; and how that begins where three are equal.
    are_equal = bytes(map(bytes.__eq__, masks, masks[1:]))
    found = []
    first = are_equal.find(LEAST_EQUAL)
    while first >= 0:
        end = are_equal.find(b"\0", first)
        if end < 0:
            end = len(are_equal)
        found.append((number + first, number + end + 1))
        first = are_equal.find(LEAST_EQUAL, end)
    return found


def most_promising(drafts: list[Draft], most: int) -> list[Draft]:
    """Return the drafts that promise most, in order of the text."""
    best = sorted(drafts, key=lambda draft: (-draft.promise, draft.line))[:most]
    return sorted(best, key=lambda draft: draft.line)
