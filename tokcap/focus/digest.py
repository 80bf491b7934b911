"""The digest of a text, for summaries: lines that report failures, both ends, and repeated lines.

The text is read in blocks, in constant memory. Every line that is shown has its number.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice

from tokcap.focus import rules
from tokcap.focus.lines import LineMap, blocks_of
from tokcap.focus.survey import survey, whole_lines
from tokcap.focus.templates import ESCAPES
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokcap.core.payload import Payload
    from tokcap.focus.units import Unit

# Similar lines are counted in this much of a text; this many kinds of them are remembered.
COUNTED_BYTES, MOST_KINDS = 16 << 20, 20_000

# How much of a line is read, and how much is shown.
LINE_BYTES, LINE_CHARACTERS = 1280, 160
FIRST_LINES, LAST_LINES, ERROR_LINES, WARNING_LINES, REPEATED_LINES = 3, 5, 12, 4, 6
# More lines are listed for each of these many tokens of the limit, at most this many times as many.
TOKENS_PER_LIST, MOST_LISTS = 600, 16
# Lines that are not blank are looked for among this many at each end.
MOST_BLANK = 1000
# A line is listed as repeated if there are this many of it, and if this many characters of it are letters.
LEAST_TIMES, LEAST_LETTERS = 3, 3

CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Numbers, hashes and addresses: lines that differ only in them are similar.
VARYING = re.compile(rb"\b(?:0x)?(?=[a-f]*+[0-9])[0-9a-f]{3,}\b|[0-9]+")
COLUMN_GAP = re.compile(rb"(?<=\S)[ \t]{2,}")
# Results that report a failure.
FAILED_RESULT = re.compile(
    rb"fail|error|stopped|abort|\*\*\*|exit|non-zero|problem|broken|crash", re.IGNORECASE
)
# Kinds of lines after which a run has most likely failed, and those that are errors too.
SEVERE = frozenset((rules.CRASH, rules.ERROR, rules.FAILED, rules.SUMMARY))
ERRORS = SEVERE | {rules.TROUBLE}


class Numbered(Record):
    """A line, its number, and how many lines are similar."""

    number: int
    text: str
    times: int = 1

    @property
    def words(self) -> str:
        return f"{self.number}: {self.text}" + (f"  [x {self.times}]" if self.times > 1 else "")


class Similar:
    """Similar lines: how many, the first one, and whether all are equal."""

    __slots__ = ("are_equal", "count", "first")

    def __init__(self, first: bytes) -> None:
        self.first = first
        self.count = 0
        self.are_equal = True


class TextDigest:
    """What was found in one text."""

    def __init__(self, payload: Payload, limit_tokens: int | None, *, failed: bool | None) -> None:
        """`limit_tokens` is the room for the summary: the more there is, the more lines are listed."""
        self._payload = payload
        self._lists = min(max((limit_tokens or 0) // TOKENS_PER_LIST, 1), MOST_LISTS)
        findings = survey(blocks_of(payload, 0, payload.size), failed=failed)
        self.lines = findings.total_lines
        self._units = findings.units
        self._map = LineMap(payload, 0, self.lines, findings.begins or None)
        self._counts_all = payload.size <= COUNTED_BYTES
        self._similar = self._count_similar()

    def _count_similar(self) -> dict[bytes, Similar]:
        found: dict[bytes, Similar] = {}
        for _, block in whole_lines(blocks_of(self._payload, 0, min(self._payload.size, COUNTED_BYTES))):
            counts = Counter(block.removesuffix(b"\n").split(b"\n"))
            # Each different line is masked once.
            for kind, (line, count) in zip(masks_of(counts), counts.items(), strict=True):
                similar = found.get(kind)
                if similar is None:
                    similar = found[kind] = Similar(line)
                elif line != similar.first:
                    similar.are_equal = False
                similar.count += count
            if len(found) > MOST_KINDS:
                self._counts_all = False
                found = {kind: similar for kind, similar in found.items() if similar.count > 1}
        return found

    def sections(self, label: str = "", *, succeeded: bool = False, brief: bool = False) -> Iterator[str]:
        """Yield the lines of the summary, most important first; if `brief`, only errors and the end.

        If the command `succeeded`, words for trouble are most likely harmless.
        """
        already_shown: set[str] = set()
        severe = self._numbered(SEVERE)
        calm = succeeded and not severe
        if not calm:
            yield from self._error_section(label, ERROR_LINES * self._lists, already_shown)
        yield from section(f"{label}last lines:", self._last_lines(), already_shown)
        if not brief:
            first = islice(self._shown_lines(range(min(self.lines, MOST_BLANK))), FIRST_LINES * self._lists)
            yield from section(f"{label}first lines:", list(first), already_shown)
        if calm:
            yield from self._error_section(label, WARNING_LINES * self._lists, already_shown)
        if brief:
            return
        warnings = self._numbered({rules.WARNING})
        title = f"{label}warnings ({self._total(warnings)}):"
        yield from section(title, warnings[: WARNING_LINES * self._lists], already_shown)
        repeated = list(islice(self._repeated(already_shown), REPEATED_LINES * self._lists))
        if repeated:
            part = f", in the first {COUNTED_BYTES >> 20} MiB" if self._payload.size > COUNTED_BYTES else ""
            yield f"{label}repeated lines (# varies{part}):"
            yield from repeated

    def _error_section(self, label: str, most: int, already_shown: set[str]) -> Iterator[str]:
        errors = self._numbered(ERRORS)
        title = f"{label}lines that look like errors ({self._total(errors)}):"
        yield from section(title, sorted(errors[:most], key=lambda line: line.number), already_shown)

    def _total(self, lines: Sequence[Numbered]) -> str:
        """Return how many lines these are, with those that are similar."""
        return f"{'' if self._counts_all else 'at least '}{sum(line.times for line in lines)}"

    def _numbered(self, kinds: Iterable[str]) -> list[Numbered]:
        """Return a line of each kind of text that reports something, the most important one first."""
        found: dict[bytes, Numbered] = {}
        for unit in sorted(self._units, key=lambda unit: -unit.value):
            if unit.kind in kinds and unit.explains < 0:
                line = self._line(unit.first_line)
                if unit.kind == rules.SUMMARY and not FAILED_RESULT.search(line):
                    continue
                (kind,) = masks_of((line,))
                if kind not in found:
                    found[kind] = Numbered(unit.first_line + 1, shown(line), self._times(unit, kind))
        return list(found.values())

    def _times(self, unit: Unit, kind: bytes) -> int:
        similar = self._similar.get(kind)
        # "2 failed" and "0 failed" are similar, but not the same result.
        return similar.count if similar and (similar.are_equal or unit.kind != rules.SUMMARY) else 1

    def _line(self, number: int) -> bytes:
        begin, end = self._map.byte_of(number), self._map.byte_of(number + 1)
        return self._payload.read(begin, min(end, begin + LINE_BYTES)).removesuffix(b"\n")

    def _shown_lines(self, numbers: Iterable[int]) -> Iterator[Numbered]:
        """Yield lines that are not blank."""
        return (Numbered(n + 1, text) for n in numbers if (text := shown(self._line(n))))

    def _last_lines(self) -> Sequence[Numbered]:
        numbers = range(max(self.lines - MOST_BLANK, 0), self.lines)
        return list(islice(self._shown_lines(reversed(numbers)), LAST_LINES * self._lists))[::-1]

    def _repeated(self, already_shown: set[str]) -> Iterator[str]:
        """Yield the most frequent lines whose number was not shown yet; the parts that vary are masked."""
        more = "" if self._counts_all else "+"
        # Sorting is stable: of equal counts, the first line in the text comes first.
        for kind, similar in sorted(self._similar.items(), key=lambda item: -item[1].count):
            if similar.count < LEAST_TIMES:
                return
            text = shown(similar.first if similar.are_equal else kind)
            if sum(map(str.isalpha, text)) >= LEAST_LETTERS and text not in already_shown:
                yield f"x {similar.count}{more}: {text}"


def masks_of(lines: Iterable[bytes]) -> Sequence[bytes]:
    """Return lines with a mask for what varies. Only the beginning of a long line counts."""
    text = b"\n".join([line[:LINE_BYTES] for line in lines])
    return COLUMN_GAP.sub(b"  ", VARYING.sub(b"#", text)).split(b"\n")


def section(title: str, lines: Sequence[Numbered], already_shown: set[str]) -> Iterator[str]:
    """Yield a title and its lines, without those shown before; nothing if none is left."""
    left = [line for line in lines if f"{line.number}: {line.text}" not in already_shown]
    if not left:
        return
    yield title
    for line in left:
        # The line is shown now. Its text counts as shown only if its count was shown too.
        already_shown.add(f"{line.number}: {line.text}")
        if line.times > 1:
            already_shown.add(line.text)
        yield line.words


def shown(line: bytes) -> str:
    """Return a line for a reader: no escapes, the last frame of a progress bar, not too long."""
    line = line[:LINE_BYTES]
    text = (ESCAPES.sub(b"", line) if b"\x1b" in line else line).decode("utf-8", "replace").rstrip()
    if "\r" in text:
        text = text.rpartition("\r")[2]
    text = CONTROLS.sub("?", text)
    # Keep some of the indentation: it has a meaning.
    inside = text.lstrip()
    text = text[: min(len(text) - len(inside), 8)] + inside
    return text if len(text) <= LINE_CHARACTERS else text[: LINE_CHARACTERS - 3] + "..."
