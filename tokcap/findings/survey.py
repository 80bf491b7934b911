"""Read a text once, in blocks, and find what matters in it. Memory does not grow with the text.

Every chunking of the text gives the same findings. Only the beginning of a very long line is examined.
"""

from __future__ import annotations

from tokcap.findings.examine import Examination
from tokcap.findings.found import STEP_LINES, Findings, Found
from tokcap.findings.weigh import weigh
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.findings.examine import Draft

BLOCK_BYTES = 1 << 20
# Only this much of a line is examined.
LONGEST_BYTES = 1 << 13
# Every line of this much text is examined; after that, lines of a new kind.
EXAMINED_BYTES = 2 << 20
MOST_CANDIDATES = 4000
MOST_REPEATS = 2000
MOST_FOUND = 20


class Survey:
    """Collects findings while a text is read."""

    def __init__(
        self, failed: bool | None, interest: str = "", most_candidates: int = MOST_CANDIDATES
    ) -> None:
        self._failed = failed
        self._most = most_candidates
        self._examination = Examination(interest)
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._lines = 0
        self._bytes = 0
        self._drafts: list[Draft] = []
        self._repeats: list[tuple[int, int]] = []
        self._line_starts: list[int] = []

    def feed(self, block: bytes) -> None:
        """Examine the next bytes of the text."""
        self._pending.append(block)
        self._pending_bytes += len(block)
        if self._pending_bytes < BLOCK_BYTES:
            return
        data = b"".join(self._pending)
        place = 0
        while len(data) - place >= BLOCK_BYTES:
            end = data.rfind(b"\n", place, place + BLOCK_BYTES) + 1
            if not end:
                # A line without an end in sight: go on to where it ends.
                end = data.find(b"\n", place + BLOCK_BYTES) + 1
                if not end:
                    break
            self._examine(data[place:end])
            place = end
        self._pending = [data[place:]]
        self._pending_bytes = len(data) - place

    def finish(self) -> Findings:
        """Return what was found. Nothing can be fed after that."""
        rest = b"".join(self._pending)
        self._pending = []
        if rest:
            self._examine(rest)
        units = weigh(self._drafts, self._examination, self._failed, self._lines)
        ranked = sorted(
            (unit for unit in units if unit.kind in FAILURES), key=lambda unit: (-unit.value, unit.first_line)
        )
        return Findings(
            total_lines=self._lines,
            units=tuple(units),
            found=tuple(Found(unit.first_line, unit.kind) for unit in ranked[:MOST_FOUND]),
            failed=self._failed,
            repeats=tuple(self._repeats),
            line_starts=tuple(self._line_starts),
        )

    def _examine(self, block: bytes) -> None:
        lines = block.split(b"\n")
        if not lines[-1]:
            lines.pop()
        if len(block) > LONGEST_BYTES * 2:
            shortened = [line[:LONGEST_BYTES] for line in lines]
        else:
            shortened = lines
        self._note_starts(lines)
        drafts, repeats = self._examination.block(
            shortened, self._lines, everything=self._bytes < EXAMINED_BYTES
        )
        self._drafts += drafts
        if len(self._repeats) < MOST_REPEATS:
            self._repeats += repeats
        if len(self._drafts) > 2 * self._most:
            best = sorted(self._drafts, key=lambda draft: (-draft.promise, draft.line))[: self._most]
            self._drafts = sorted(best, key=lambda draft: draft.line)
        self._lines += len(lines)
        self._bytes += len(block)

    def _note_starts(self, lines: list[bytes]) -> None:
        place, first = self._bytes, 0
        # The first line of this block whose number is a multiple of the step.
        number = -self._lines % STEP_LINES
        while number < len(lines):
            place += sum(map(len, lines[first:number])) + number - first
            self._line_starts.append(place)
            first = number
            number += STEP_LINES


FAILURES = frozenset(("interest", "crash", "summary", "error", "failed", "trouble"))
