"""What a reader wants to know of a text: where it hurts, how it begins and ends, what repeats.

Read once, in blocks, at constant memory; every line that is shown carries its number.
"""

from __future__ import annotations

import re
from collections import Counter

from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes.modes.headline import size_words
from tokcap.shapes.modes.trouble import ERROR, FATAL, NONE, WARNING, rank, suspects

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.core.payload import Payload

BLOCK_BYTES = 1 << 20
# Of a line that fills whole blocks, only this much is looked at.
LONGEST_BYTES = 1 << 16
# Masking is slow: what repeats is looked for in so much of the payload.
MASKED_BYTES = 16 << 20
# Lines that are looked at closely in a block, and kinds of lines that are kept in mind.
CLOSELY, KINDS = 800, 20_000

LINE_CHARACTERS = 160
FIRST_LINES, LAST_LINES, ERROR_LINES, WARNING_LINES, REPEATED_LINES = 3, 5, 12, 4, 6

ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Numbers and what looks like a hash or an address: lines that differ only in them are alike.
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


class Trouble:
    """Lines of one rank: how many, and the first of each kind."""

    def __init__(self) -> None:
        self.count = 0
        self._kinds: dict[str, list[int | str]] = {}

    def add(self, number: int, text: str) -> None:
        self.count += 1
        kind = ADDRESS.sub("#", text)
        known = self._kinds.get(kind)
        if known is not None:
            known[2] = int(known[2]) + 1
        elif len(self._kinds) < KINDS:
            self._kinds[kind] = [number, text, 1]

    def kinds(self) -> Sequence[Numbered]:
        return [Numbered(int(number), str(text), int(times)) for number, text, times in self._kinds.values()]


class Digest:
    """A text, read."""

    def __init__(self, payload: Payload) -> None:
        self.lines = 0
        self.first: list[Numbered] = []
        self.last: list[Numbered] = []
        self.trouble = {WARNING: Trouble(), ERROR: Trouble(), FATAL: Trouble()}
        # Whether there may be more trouble than was counted.
        self.more_trouble = False
        self._alike: Counter[bytes] = Counter()
        self._same: Counter[bytes] = Counter()
        self._examples: dict[bytes, bytes] = {}
        self._pruned = False
        self._masked_bytes = 0
        self._size = payload.size
        for block in whole_lines(payload):
            self._look_for_trouble(block)
            lines = block.removesuffix(b"\n").split(b"\n")
            self._keep_ends(lines)
            if self._masked_bytes < MASKED_BYTES:
                self._count_repeated(block)
                self._masked_bytes += len(block)
            self.lines += len(lines)

    def _keep_ends(self, lines: list[bytes]) -> None:
        for place, line in enumerate(lines):
            if len(self.first) == FIRST_LINES:
                break
            if text := shown(line):
                self.first.append(Numbered(self.lines + place + 1, text))
        found: list[Numbered] = []
        for place in range(len(lines) - 1, -1, -1):
            if len(found) == LAST_LINES:
                break
            if text := shown(lines[place]):
                found.append(Numbered(self.lines + place + 1, text))
        self.last = (self.last + found[::-1])[-LAST_LINES:]

    def _look_for_trouble(self, block: bytes) -> None:
        number, counted = self.lines + 1, 0
        places = suspects(block, CLOSELY)
        # The first and the last ones, if there are too many: causes and verdicts.
        if len(places) >= CLOSELY:
            self.more_trouble = True
            places = [*places[: CLOSELY // 2], *places[len(places) - CLOSELY // 2 :]]
        for start in places:
            end = block.find(b"\n", start)
            text = shown(block[start : end if end >= 0 else len(block)])
            number += block.count(b"\n", counted, start)
            counted = start
            if (found := rank(text)) != NONE:
                self.trouble[found].add(number, text)

    def _count_repeated(self, block: bytes) -> None:
        lines = [line[: 2 * LINE_CHARACTERS] for line in block.removesuffix(b"\n").split(b"\n")]
        # Masked once per line that is written, not once per line that is there.
        counted = Counter(lines)
        self._same.update(counted)
        unique = list(counted)
        masked = COLUMN_GAP.sub(b"  ", VARYING.sub(b"#", b"\n".join(unique))).split(b"\n")
        for line, kind in zip(unique, masked, strict=True):
            self._alike[kind] += counted[line]
            self._examples.setdefault(kind, line)
        for counter in (self._same, self._alike):
            if len(counter) > KINDS:
                self._pruned = True
                for line in [line for line, count in counter.items() if count == 1]:
                    del counter[line]
        if self._pruned:
            self._examples = {kind: line for kind, line in self._examples.items() if kind in self._alike}

    def sections(self, label: str = "", *, calm: bool = False, brief: bool = False) -> Iterator[str]:
        """Lines of the summary, most important first; in brief: only trouble and the end.

        `calm`: the command succeeded, so that words for trouble are most likely just words.
        """
        told: set[str] = set()
        calm = calm and not self.trouble[FATAL].count
        if not calm:
            yield from self._trouble(label, ERROR_LINES, told)
        yield from section(f"{label}last lines:", self.last, told)
        if not brief:
            yield from section(f"{label}first lines:", self.first, told)
        if calm:
            yield from self._trouble(label, WARNING_LINES, told)
        if brief:
            return
        warnings = self.trouble[WARNING]
        yield from section(f"{label}warnings ({warnings.count}):", warnings.kinds()[:WARNING_LINES], told)
        repeated = self._repeated(told)
        if repeated:
            part = f", in the first {size_words(MASKED_BYTES)}" if self._size > MASKED_BYTES else ""
            yield f"{label}repeated lines (# varies{part}):"
            yield from repeated

    def _trouble(self, label: str, most: int, told: set[str]) -> Iterator[str]:
        count = self.trouble[FATAL].count + self.trouble[ERROR].count
        more = "at least " if self.more_trouble else ""
        yield from section(f"{label}lines that look like errors ({more}{count}):", self._errors(most), told)

    def _repeated(self, told: set[str]) -> Sequence[str]:
        """The most frequent lines, unless their number was told already; what varies in them is masked."""
        found = []
        # Sorting is stable: among equals, the first in the text comes first.
        for kind, count in sorted(self._alike.items(), key=lambda item: -item[1])[: 8 * REPEATED_LINES]:
            example = self._examples[kind]
            same = self._same.get(example, 0) == count
            if count < 3 or sum(map(str.isalnum, shown(kind))) < 3 or (same and shown(example) in told):
                continue
            found.append(f"x {count}{'+' if self._pruned else ''}: {shown(example if same else kind)}")
        return found[:REPEATED_LINES]

    def _errors(self, most: int) -> Sequence[Numbered]:
        """The worst kinds of trouble, in order: the first of them, and the last."""
        chosen: list[Numbered] = []
        for level in (FATAL, ERROR):
            kinds = self.trouble[level].kinds()
            room = most - len(chosen)
            if len(kinds) > room:
                # The first error is often the cause, the last one often the verdict.
                kinds = [*kinds[: room - room // 3], *kinds[len(kinds) - room // 3 :]]
            chosen += kinds
        return sorted(chosen, key=lambda line: line.number)


def section(title: str, lines: Sequence[Numbered], told: set[str]) -> Iterator[str]:
    """A title and its lines, without those that were told before; nothing if none is left."""
    left = [line for line in lines if f"{line.number}: {line.text}" not in told]
    if not left:
        return
    yield title
    for line in left:
        # Where it stands is told now; its text only if it came with its number of times.
        told.add(f"{line.number}: {line.text}")
        if line.times > 1:
            told.add(line.text)
        yield line.words


def whole_lines(payload: Payload) -> Iterator[bytes]:
    """The payload in blocks of whole lines; of a line that fills blocks, only its beginning."""
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
    """A line as a reader should see it: no escapes, the last frame of a progress bar, not too long."""
    text = line[: 8 * LINE_CHARACTERS].decode("utf-8", "replace").rstrip()
    if "\x1b" in text:
        text = ESCAPES.sub("", text)
    if "\r" in text:
        text = text.rpartition("\r")[2]
    text = CONTROLS.sub("?", text)
    # Indentation tells something, columns of blanks do not.
    inside = text.lstrip()
    text = text[: min(len(text) - len(inside), 8)] + inside
    return text if len(text) <= LINE_CHARACTERS else text[: LINE_CHARACTERS - 3] + "..."
