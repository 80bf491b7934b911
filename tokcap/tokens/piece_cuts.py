"""Find token boundaries inside a long piece of a pre-split without encoding all of the piece.

A sequence of tokens is the encoding of its bytes if and only if every two neighbours are the encoding of
theirs. Two rules follow, and both need only a short part of a piece:

*settled*  The beginning is known, the rest is not. Some token ends at one of the last `longest` bytes of the
           known part. What the encodings up to each of these bytes have in common at their start is final.
*common*   Both sides are unknown. Some token starts at one of the first `longest` bytes. A boundary that the
           encodings from each of these bytes have in common, and that is settled, is a boundary of the whole.
"""

from __future__ import annotations

from itertools import accumulate

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# How far before the end of the known part to look for a settled token, in longest tokens. If that fails, look
# further.
REACHES = (3, 12, 48)
# The tokens that must stay the same. One is enough for the proof.
WITNESSES = 4
# How many ends are returned. The last ones may be inside characters.
MOST_ENDS = 256
# A part that repeats itself within so many bytes has no boundary that can be found.
LONGEST_PERIOD = 64
# How much of a piece to look at for a boundary that does not depend on its beginning.
MIDDLE_BYTES = (1 << 10, 1 << 12)


class PieceCuts:
    """Boundaries inside pieces of one encoding."""

    def __init__(
        self, merge: Callable[[bytes], list[int]], length_of: Callable[[int], int], longest: int
    ) -> None:
        self._merge = merge
        self._length_of = length_of
        self._longest = longest

    def settled(self, piece: bytes) -> Sequence[tuple[int, int]]:
        """Return where the last tokens of a piece end that stay the same whatever follows it, last one first.

        Each end comes with the number of tokens before it. There are at most `MOST_ENDS`.
        """
        size, longest = len(piece), self._longest
        if size < REACHES[0] * longest:
            return ()
        tokens = self._merge(piece)
        number, end = len(tokens), size
        for reach in REACHES:
            while number and end > size - reach * longest:
                number -= 1
                end -= self._length_of(tokens[number])
            if number < WITNESSES:
                return ()
            expected = tokens[number - WITNESSES : number]
            start = end - sum(map(self._length_of, expected))
            stops = range(size - longest + 1, size + 1)
            if all(self._merge(piece[start:stop])[:WITNESSES] == expected for stop in stops):
                break
        else:
            return ()
        found = [(number, end)]
        while number > 1 and len(found) < MOST_ENDS:
            number -= 1
            end -= self._length_of(tokens[number])
            found.append((number, end))
        return found

    def common(self, piece: bytes) -> Sequence[int]:
        """Return boundaries inside a part of a piece that do not depend on what is before or after it."""
        for size in MIDDLE_BYTES:
            part = piece[:size]
            if len(part) < size or repeats(part):
                return ()
            shared = set(range(size + 1))
            for start in range(self._longest):
                shared.intersection_update(self._ends(self._merge(part[start:]), start))
            # From the first shared boundary on, all encodings are equal.
            first = min(shared)
            if found := self.settled(part[first:]):
                return [*(first + end for _, end in found), first]
        return ()

    def _ends(self, tokens: Sequence[int], start: int = 0) -> list[int]:
        return list(accumulate(map(self._length_of, tokens), initial=start))[1:]


def repeats(data: bytes) -> bool:
    """Return whether data repeats a short part: then boundaries depend on where the first part began."""
    return any(data.startswith(data[period:]) for period in range(1, LONGEST_PERIOD))
