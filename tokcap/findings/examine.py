"""Examine blocks of lines: which of them may matter, and what they are."""

from __future__ import annotations

from bisect import bisect_right
from zlib import crc32

from tokcap.findings import rules
from tokcap.findings.columns import outliers
from tokcap.findings.judge import judge, telling_words
from tokcap.findings.structure import IS_DIFF, headings
from tokcap.lean.patterns import later
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

ESCAPES = later(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\-_])")
# All frames of a progress line but the last one.
FRAMES = later(rb"[^\r\n]*\r(?=[^\r\n])")

# To lower case; punctuation that does not belong to names becomes a blank.
BLANKS = b":()[]{}<>,;\"'`!|=*#?&%\t\r"
WORDS_TABLE = bytes.maketrans(bytes(range(65, 91)) + BLANKS, bytes(range(97, 123)) + b" " * len(BLANKS))
DIGITS = b"0123456789"
# Without these, lines that differ in numbers, hashes and addresses are equal.
HEX_DIGITS = b"0123456789abcdef"

# Words that prose is full of, and words that source code is full of.
PROSE_WORDS = tuple(b"the a an of to is and in that this be are for with it as by or you can".split())
SOURCE_WORDS = tuple(
    b"def return self import class if else elif function const let var int void char static public private struct"
    b" true false null none new func fn pub mut let end then local require raise try except catch throw".split()
)

# Words are counted in so many lines; a word that is in one of so many lines is a part of what is said.
FREQUENT_SHARE = 100
KEY_WORDS = 14
MOST_GROUPS = 20_000
# In blocks that are not examined completely, at most so many new lines.
MOST_NEW = 400
MOST_MASKS = 50_000
# Lines after and before a failure that can explain it.
AFTER_LINES, BEFORE_LINES = 14, 4
TRACE_LINES = 60
MOST_SINGLE = 300
# A line with fewer letters says nothing.
LEAST_LETTERS = 4
NO_LETTERS = bytes(byte for byte in range(128) if not chr(byte).isalpha())
# A heading at most so many lines above a failure says where that failed.
SECTION_LINES, SECTION_STRENGTH = 80, 0.55

PLACE = later(
    rb"File \"[^\"]+\", line \d+|(?:^|[\s(@])[\w./\\@+-]*[\w)]\.\w{1,6}[:(]\d+(?:[,:]\d+)?\)?|^\s*--> |\(\S+\.\w+:\d+\)| \(\S+\.c:\d+\)"
)
FOREIGN = (
    *(
        b"site-packages",
        b"node_modules",
        b"node:internal",
        b"(internal/",
        b"/usr/lib",
        b"/rustc/",
        b"java.base/",
    ),
    *(
        b"org.junit",
        b"jdk.internal",
        b"/vendor/",
        b"<frozen",
        b".cargo/registry",
        b"/lib/python",
        b"sun.reflect",
    ),
    *(
        b"/usr/local/go/",
        b"/gems/",
        b"libc.so",
        b"vg_replace",
        b"std::rt",
        b"core::ops",
        b"dist-packages",
        b"_pytest/",
    ),
)


class Draft:
    """A line that may matter, before it is known how rare it is."""

    __slots__ = (
        "repeat",
        "about_end",
        "about_first",
        "end",
        "explains",
        "group",
        "kind",
        "line",
        "promise",
        "strength",
    )

    def __init__(self, line: int, kind: str, group: int, strength: float = 1.0, explains: int = -1) -> None:
        self.line = self.about_first = line
        self.end = self.about_end = line + 1
        self.kind = kind
        self.group = group
        self.strength = strength
        self.repeat = 0
        self.explains = explains
        self.promise = PROMISE.get(kind, 1.0) * strength


# Which drafts are kept if there are too many.
PROMISE = {
    "interest": 100.0,
    "crash": 10.0,
    "summary": 9.0,
    "error": 8.0,
    "failed": 8.0,
    "trouble": 4.0,
    "warning": 2.0,
}


class Examination:
    """What is known about the lines so far."""

    def __init__(self, interest: str = "") -> None:
        self._interest: re.Pattern[bytes] | None = None
        if interest:
            import re

            self._interest = re.compile(interest.encode())
        self.is_diff = False
        # Shares of words that prose and source code are full of.
        self.prose = self.source = 0.0
        # How many lines have each kind.
        self.kind_counts: dict[str, int] = {}
        self._frequent: set[bytes] | None = None
        self._telling: dict[bytes, list[int]] = {}
        # The number of lines per group, and of groups per key.
        # Group 0 has the lines that are like no other.
        self.group_counts: list[int] = [1]
        self._groups: dict[bytes, int] = {b"": 0}
        self._masks: set[bytes] = set()
        self.examined_lines = self.single_lines = 0

    def block(
        self, lines: Sequence[bytes], number: int, *, everything: bool
    ) -> tuple[list[Draft], list[tuple[int, int]]]:
        """Return drafts for a block that begins with line `number`, and the ranges of similar lines."""
        data = b"\n".join(lines)
        masks = data.translate(None, DIGITS).split(b"\n")
        repeats = similar_ranges(masks, number)
        if b"\x1b" in data:
            data = ESCAPES.sub(b"", data)
        if b"\r" in data:
            data = FRAMES.sub(b"", data)
        plain = data.split(b"\n")
        if everything:
            chosen: Sequence[int] = range(len(lines))
            words = [line.split() for line in words_of(data).split(b"\n")]
        else:
            chosen = self._new_lines(masks)
            words_by_line = {n: words_of(plain[n]).split() for n in chosen}
            words = [words_by_line.get(n, []) for n in range(len(lines))]
        if len(self._masks) < MOST_MASKS:
            self._masks.update(masks)
        self._learn([words[n] for n in chosen])
        self.is_diff = self.is_diff or IS_DIFF.search(data) is not None
        drafts = self._judged(plain, words, chosen, number)
        if everything:
            self.examined_lines += len(lines)
            structure = list(headings(plain, is_diff=self.is_diff))
            drafts += self._sections(drafts, structure, number)
            known = {draft.line for draft in drafts if draft.explains < 0}
            drafts += [
                Draft(number + n, kind, self._group_of[n], strength)
                for n, kind, strength in (*structure, *outliers(plain, words))
                if number + n not in known
            ]
            drafts += self._examples(plain, number)
        return drafts, repeats

    def _new_lines(self, masks: Sequence[bytes]) -> Sequence[int]:
        """Return lines whose mask was not seen before, at most `MOST_NEW`."""
        last_of = dict(zip(masks, range(len(masks)), strict=True))
        new = sorted(place for mask, place in last_of.items() if mask not in self._masks)
        if len(new) > MOST_NEW:
            step = len(new) / MOST_NEW
            new = [new[int(n * step)] for n in range(MOST_NEW)]
        return new

    def _learn(self, words: Sequence[Sequence[bytes]]) -> None:
        """Learn which words are frequent, and the group of each line."""
        counts: dict[bytes, int] = {}
        for line in words:
            for word in line:
                counts[word] = counts.get(word, 0) + 1
        self._telling = telling_words(counts)
        if self._frequent is None:
            least = max(3, min(len(words) // FREQUENT_SHARE, 20))
            total = sum(counts.values()) or 1
            self.prose = sum(counts.get(word, 0) for word in PROSE_WORDS) / total
            self.source = sum(counts.get(word, 0) for word in SOURCE_WORDS) / total
            self._frequent = {word for word, count in counts.items() if count >= least and is_constant(word)}
        frequent, groups, group_counts = self._frequent, self._groups, self.group_counts
        self._group_of = []
        for line in words:
            key = b" ".join([word for word in line[:KEY_WORDS] if word in frequent])
            if line and b"/" in line[0]:
                # Files of one directory are of one kind.
                key = line[0].lstrip(b"./").partition(b"/")[0] + b"/ " + key
            if not key:
                self._group_of.append(0)
                continue
            group = groups.get(key)
            if group is None:
                if len(groups) >= MOST_GROUPS:
                    self._group_of.append(0)
                    continue
                group = groups[key] = len(groups)
                group_counts.append(0)
            group_counts[group] += 1
            self._group_of.append(group)

    def _judged(
        self, plain: Sequence[bytes], words: Sequence[Sequence[bytes]], chosen: Sequence[int], number: int
    ) -> list[Draft]:
        telling, drafts = self._telling, []
        hot = telling.keys()
        for place, n in enumerate(chosen):
            line = plain[n]
            kind = ""
            if self._interest and self._interest.search(line):
                kind = "interest"
            elif self.is_diff and line[:1] in DIFF_MARKERS:
                continue
            elif not hot.isdisjoint(words[n]):
                kind = judge(line, words[n], telling)
            if not kind and line[:1] in MARKS and rules.MARKED_LINES.match(line):
                kind = rules.FAILED
            if not kind:
                continue
            draft = Draft(number + n, kind, self._group_of[place])
            draft.repeat = hash_of(line)
            if line.startswith(SIDE_FILES):
                draft.strength = SIDE_STRENGTH
            drafts.append(draft)
            self.kind_counts[kind] = self.kind_counts.get(kind, 0) + 1
            if kind in EXPLAINED:
                self._explain(draft, plain, n, number, drafts)
        return drafts

    def _explain(
        self, draft: Draft, plain: Sequence[bytes], n: int, number: int, drafts: list[Draft]
    ) -> None:
        """Find the lines around a failure that belong to it, and among them the places in files."""
        end = n + 1
        while end < len(plain) and end - n <= AFTER_LINES and belongs(plain[end], plain[n]):
            end += 1
        first = n
        while first > 0 and n - first < BEFORE_LINES and plain[first - 1].strip():
            first -= 1
        draft.about_first, draft.about_end = number + first, number + end
        own = 0
        for place in range(n, end):
            if PLACE.search(plain[place]) and place > n:
                strength = 0.2 if any(name in plain[place] for name in FOREIGN) else 0.7 / (1 + own)
                own += strength > 0.2
                drafts.append(Draft(number + place, "place", 0, strength, draft.line))
        if draft.kind == rules.CRASH:
            own = 0
            for place in range(n - 1, max(n - TRACE_LINES, -1), -1):
                if plain[place].startswith((b"Traceback", b"goroutine")) or not plain[place].strip():
                    break
                if PLACE.search(plain[place]) and not any(name in plain[place] for name in FOREIGN):
                    drafts.append(Draft(number + place, "place", 0, 0.7 / (1 + own), draft.line))
                    own += 1

    def _sections(
        self, drafts: Sequence[Draft], structure: Sequence[tuple[int, str, float]], number: int
    ) -> list[Draft]:
        """Return the heading above each failure."""
        titles = [number + n for n, _, strength in structure if strength >= SECTION_STRENGTH]
        found = []
        for draft in drafts:
            if draft.kind in EXPLAINED:
                place = bisect_right(titles, draft.line) - 1
                if place >= 0 and titles[place] != draft.line and draft.line - titles[place] < SECTION_LINES:
                    found.append(Draft(titles[place], "section", 0, 1.0, draft.line))
        return found

    def _examples(self, plain: Sequence[bytes], number: int) -> list[Draft]:
        """Return the first line of each group."""
        first: dict[int, int] = {}
        single = []
        for n, group in enumerate(self._group_of):
            if not group:
                single.append(n)
            elif group not in first:
                first[group] = n
        drafts = [Draft(number + n, "example", group) for group, n in first.items()]
        drafts += [
            Draft(number + n, "example", 0)
            for n in single[:MOST_SINGLE]
            if len(plain[n].translate(None, NO_LETTERS)) >= LEAST_LETTERS
        ]
        self.single_lines += len(single)
        return drafts


# Files that are rarely what somebody works on.
SIDE_FILES = (
    b"tests/",
    b"test/",
    b"examples/",
    b"docs/",
    b"vendor/",
    b"third_party/",
    b"node_modules/",
    b"deps/",
)
SIDE_STRENGTH = 0.7
EXPLAINED = frozenset((rules.CRASH, rules.ERROR, rules.FAILED, rules.TROUBLE, "interest"))
# First bytes of lines that may be marked as failed.
MARKS = (b" ", b"E", b"\xe2", b"\xc3", b"\t")
DIFF_MARKERS = (b"+", b"-", b" ", b"@")


def hash_of(line: bytes) -> int:
    """Return a number that is equal for messages that differ only in numbers, hashes and their place."""
    return crc32((line.partition(b": ")[2] or line).translate(None, HEX_DIGITS))


def is_constant(word: bytes) -> bool:
    """Return whether a word can be a part of what is said: no number, name of a file, or identifier."""
    letters = word.translate(None, DIGITS)
    if len(letters) == len(word):
        return b"/" not in word and b"." not in word
    # The code of a diagnostic: `f821`, `ts2724`.
    return 1 <= len(letters) <= 4 and len(word) <= 7 and letters.isalpha() and word.startswith(letters)


def words_of(data: bytes) -> bytes:
    """Return a text in lower case with blanks between words."""
    return data.translate(WORDS_TABLE).replace(b". ", b"  ").replace(b".\n", b" \n")


def belongs(line: bytes, failure: bytes) -> bool:
    """Return whether a line continues the message of the failure before it."""
    text = line.lstrip()
    if not text:
        return False
    return len(line) - len(text) > len(failure) - len(failure.lstrip()) or text[:1] in (
        b"|",
        b"^",
        b"-",
        b"=",
        b"E",
        b">",
        b"~",
        b"+",
        b"n",
    )


def similar_ranges(masks: Sequence[bytes], number: int) -> list[tuple[int, int]]:
    """Return the ranges of at least three equal masks."""
    changes = [0, *[n for n in range(1, len(masks)) if masks[n] != masks[n - 1]], len(masks)]
    return [
        (number + first, number + end)
        for first, end in zip(changes, changes[1:], strict=False)
        if end - first >= 3
    ]
