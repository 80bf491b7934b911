"""Find what a reader wants to know about a text: errors, first and last lines, repeated lines.

The text is read once, in blocks, in constant memory. Every line that is shown has its number.
"""

from __future__ import annotations

import re
from collections import Counter

from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes.error_lines import DIFF, DIFF_MARKERS, ERROR, FATAL, NONE, WARNING, rank, suspects
from tokcap.shapes.headline import size_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.core.payload import Payload

BLOCK_BYTES = 1 << 20
# Only this much of a line that fills whole blocks is examined.
LONGEST_BYTES = 1 << 16
# Masking is slow: repeated lines are counted in this much of the payload only.
MASKED_BYTES = 16 << 20
# Most lines per block that are ranked, and most kinds of lines that are remembered.
MOST_RANKED, MOST_KINDS = 800, 20_000

LINE_CHARACTERS = 160
FIRST_LINES, LAST_LINES, ERROR_LINES, WARNING_LINES, REPEATED_LINES = 3, 5, 12, 4, 6
# There are as many lines for every so many tokens of the limit, but not more than so many times.
TOKENS_PER_DIGEST, MOST_DIGESTS = 600, 16

ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Numbers, hashes and addresses: lines that differ only in them count as equal.
VARYING = re.compile(rb"\b(?:0x)?(?=[a-f]*+[0-9])[0-9a-f]{3,}\b|[0-9]+")
COLUMN_GAP = re.compile(rb"(?<=\S)[ \t]{2,}")
ADDRESS = re.compile(r"\b(?:0x)?(?=[a-f]*+[0-9])[0-9a-f]{3,}\b|[0-9]+")


class Numbered(Record):
    """A line and its number."""

    number: int
    text: str
    times: int = 1

    @property
    def words(self) -> str:
        return f"{self.number}: {self.text}" + (f"  [x {self.times}]" if self.times > 1 else "")


class RankedLines:
    """The lines of one rank: how many, and the first of each kind."""

    def __init__(self) -> None:
        self.count = 0
        self._kinds: dict[str, list[int | str]] = {}

    def add(self, number: int, text: str) -> None:
        self.count += 1
        kind = ADDRESS.sub("#", text)
        known = self._kinds.get(kind)
        if known is not None:
            known[2] = int(known[2]) + 1
        elif len(self._kinds) < MOST_KINDS:
            self._kinds[kind] = [number, text, 1]

    def kinds(self) -> Sequence[Numbered]:
        return [Numbered(int(number), str(text), int(times)) for number, text, times in self._kinds.values()]


class TextDigest:
    """What was found in one text."""

    def __init__(self, payload: Payload, limit_tokens: int | None = None) -> None:
        """`limit_tokens` is the room for the summary: the more there is, the more lines are listed."""
        self._times = min(max((limit_tokens or 0) // TOKENS_PER_DIGEST, 1), MOST_DIGESTS)
        self.lines = 0
        self.first: list[Numbered] = []
        self.last: list[Numbered] = []
        self.ranked = {rank: RankedLines() for rank in (WARNING, ERROR, FATAL)}
        # Whether there may be more such lines than were counted.
        self.more_ranked = False
        self._is_diff = False
        self._alike: Counter[bytes] = Counter()
        self._same: Counter[bytes] = Counter()
        self._examples: dict[bytes, bytes] = {}
        self._pruned = False
        self._masked_bytes = 0
        self._size = payload.size
        for block in whole_lines(payload):
            self._rank_lines(block)
            lines = block.removesuffix(b"\n").split(b"\n")
            self._keep_ends(lines)
            if self._masked_bytes < MASKED_BYTES:
                self._count_repeated(block)
                self._masked_bytes += len(block)
            self.lines += len(lines)

    def _keep_ends(self, lines: list[bytes]) -> None:
        for place, line in enumerate(lines):
            if len(self.first) == FIRST_LINES * self._times:
                break
            if text := shown(line):
                self.first.append(Numbered(self.lines + place + 1, text))
        found: list[Numbered] = []
        for place in range(len(lines) - 1, -1, -1):
            if len(found) == LAST_LINES * self._times:
                break
            if text := shown(lines[place]):
                found.append(Numbered(self.lines + place + 1, text))
        self.last = (self.last + found[::-1])[-LAST_LINES * self._times :]

    def _rank_lines(self, block: bytes) -> None:
        number, counted = self.lines + 1, 0
        self._is_diff = self._is_diff or DIFF.search(block) is not None
        places = suspects(block, MOST_RANKED)
        # If there are too many, take the first ones (causes) and the last ones (results).
        if len(places) >= MOST_RANKED:
            self.more_ranked = True
            places = [*places[: MOST_RANKED // 2], *places[len(places) - MOST_RANKED // 2 :]]
        for start in places:
            if self._is_diff and block.startswith(DIFF_MARKERS, start):
                continue
            end = block.find(b"\n", start)
            text = shown(block[start : end if end >= 0 else len(block)])
            number += block.count(b"\n", counted, start)
            counted = start
            if (found := rank(text)) != NONE:
                self.ranked[found].add(number, text)

    def _count_repeated(self, block: bytes) -> None:
        lines = [line[: 2 * LINE_CHARACTERS] for line in block.removesuffix(b"\n").split(b"\n")]
        # Mask each different line once.
        counted = Counter(lines)
        self._same.update(counted)
        unique = list(counted)
        masked = COLUMN_GAP.sub(b"  ", VARYING.sub(b"#", b"\n".join(unique))).split(b"\n")
        for line, kind in zip(unique, masked, strict=True):
            self._alike[kind] += counted[line]
            self._examples.setdefault(kind, line)
        for counter in (self._same, self._alike):
            if len(counter) > MOST_KINDS:
                self._pruned = True
                for line in [line for line, count in counter.items() if count == 1]:
                    del counter[line]
        if self._pruned:
            self._examples = {kind: line for kind, line in self._examples.items() if kind in self._alike}

    def sections(self, label: str = "", *, succeeded: bool = False, brief: bool = False) -> Iterator[str]:
        """Yield the lines of the summary, most important first; if `brief`, only errors and the end.

        If the command `succeeded`, lines with words for errors are most likely harmless.
        """
        already_shown: set[str] = set()
        calm = succeeded and not self.ranked[FATAL].count
        if not calm:
            yield from self._error_section(label, ERROR_LINES * self._times, already_shown)
        yield from section(f"{label}last lines:", self.last, already_shown)
        if not brief:
            yield from section(f"{label}first lines:", self.first, already_shown)
        if calm:
            yield from self._error_section(label, WARNING_LINES * self._times, already_shown)
        if brief:
            return
        warnings = self.ranked[WARNING]
        yield from section(
            f"{label}warnings ({warnings.count}):",
            warnings.kinds()[: WARNING_LINES * self._times],
            already_shown,
        )
        repeated = self._repeated(already_shown)
        if repeated:
            part = f", in the first {size_words(MASKED_BYTES)}" if self._size > MASKED_BYTES else ""
            yield f"{label}repeated lines (# varies{part}):"
            yield from repeated

    def _error_section(self, label: str, most: int, already_shown: set[str]) -> Iterator[str]:
        count = self.ranked[FATAL].count + self.ranked[ERROR].count
        more = "at least " if self.more_ranked else ""
        yield from section(
            f"{label}lines that look like errors ({more}{count}):", self._errors(most), already_shown
        )

    def _repeated(self, already_shown: set[str]) -> Sequence[str]:
        """Return the most frequent lines whose number was not shown yet; the parts that vary are masked."""
        found = []
        # Sorting is stable: of equal counts, the first line in the text comes first.
        for kind, count in sorted(self._alike.items(), key=lambda item: -item[1])[
            : 8 * REPEATED_LINES * self._times
        ]:
            example = self._examples[kind]
            same = self._same.get(example, 0) == count
            if (
                count < 3
                or sum(map(str.isalnum, shown(kind))) < 3
                or (same and shown(example) in already_shown)
            ):
                continue
            found.append(f"x {count}{'+' if self._pruned else ''}: {shown(example if same else kind)}")
        return found[: REPEATED_LINES * self._times]

    def _errors(self, most: int) -> Sequence[Numbered]:
        """Return the first and the last kinds of the worst lines, in order of the text."""
        chosen: list[Numbered] = []
        for level in (FATAL, ERROR):
            kinds = self.ranked[level].kinds()
            room = most - len(chosen)
            if len(kinds) > room:
                # The first error is often the cause, the last one often the result.
                kinds = [*kinds[: room - room // 3], *kinds[len(kinds) - room // 3 :]]
            chosen += kinds
        return sorted(chosen, key=lambda line: line.number)


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


def whole_lines(payload: Payload) -> Iterator[bytes]:
    """Yield the payload in blocks of whole lines; only the beginning of a line that fills blocks."""
    rest = b""
    for place in range(0, payload.size, BLOCK_BYTES):
        block = payload.read(place, min(place + BLOCK_BYTES, payload.size))
        cut = block.rfind(b"\n") + 1
        if cut:
            yield rest + block[:cut]
            rest = block[cut:]
        else:
            rest = (rest + block)[:LONGEST_BYTES]
    if rest:
        yield rest


def shown(line: bytes) -> str:
    """Return a line for a reader: no escapes, the last frame of a progress bar, not too long."""
    text = line[: 8 * LINE_CHARACTERS].decode("utf-8", "replace").rstrip()
    if "\x1b" in text:
        text = ESCAPES.sub("", text)
    if "\r" in text:
        text = text.rpartition("\r")[2]
    text = CONTROLS.sub("?", text)
    # Keep some of the indentation: it has a meaning.
    inside = text.lstrip()
    text = text[: min(len(text) - len(inside), 8)] + inside
    return text if len(text) <= LINE_CHARACTERS else text[: LINE_CHARACTERS - 3] + "..."
