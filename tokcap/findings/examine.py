"""Examine blocks of lines: which of them may matter, and what they are."""

from __future__ import annotations

# `collections.Counter` counts with it. Importing `collections` would load more than is saved.
from _collections import _count_elements  # type: ignore[import-not-found]
from itertools import chain, islice

from tokcap.findings import rules
from tokcap.findings.columns import incomplete, outliers
from tokcap.findings.draft import Draft
from tokcap.findings.explain import COMMON_LINES, SECTION_STRENGTH, explain, headings_above, subordinate
from tokcap.findings.false_friends import prefix_bytes
from tokcap.findings.groups import Groups
from tokcap.findings.judge import Judge
from tokcap.findings.structure import headings, is_diff
from tokcap.findings.words import HEX_DIGITS, ONE_DIGIT, has_words, message_of, words_of
from tokcap.lean.patterns import later
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence

ESCAPES = later(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\-_])")
# All frames of a progress line but the last one. The number is `re.MULTILINE`.
FRAMES = later(rb"^[^\n]*\r(?=[^\r\n])", 8)

# At most so many lines of a block that match the pattern of the caller, if not all lines are examined.
MOST_INTERESTING = 200
# At most so many lines of a block that are like no other, and so many failures with the same message.
MOST_SINGLE, MOST_REPEATED = 300, 4
# So much of a message is compared, and so many messages are remembered.
MESSAGE_BYTES, MOST_MESSAGES = 400, 20_000
# All lines of a kind are examples if there are no more of them.
RARE_LINES = 3
# At most so many failures of a block are explained.
MOST_EXPLAINED = 200
# How much a heading is worth that says what another one said, or the same with other numbers.
SAME_HEADING, LIKE_HEADING = 0.3, 0.75
# Files that are rarely what somebody works on, and files of the system.
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
SYSTEM_FILES = (b"/usr/include", b"/usr/lib", b"/usr/local/lib", b"/opt/")
SYSTEM_STRENGTH = 0.5
# A compiler that guesses what was meant has found a slip, which is likely the cause.
HINT, HINT_STRENGTH = b"id you mean", 1.4

EXPLAINED = frozenset((rules.CRASH, rules.ERROR, rules.FAILED, rules.TROUBLE, "interest"))
# First bytes of lines that may be marked as failed, and of the lines of a diff.
MARKS = (b" ", b"E", b"\xe2", b"\xc3", b"\t")
DIFF_MARKERS = (b"+", b"-", b" ", b"@")
# The result of `--stat` begins with a blank, as the lines of a diff do.
CHANGES = (b"insertions(+)", b"insertion(+)", b"deletions(-)", b"deletion(-)")
# The shortest abbreviation of a hash.
HASH_BYTES = 7
# What a compiler says about a file does not depend on the file and the place: `a.c:3:14: warning: …`.
SOURCE_FILES = tuple(
    b".c .cc .cpp .cs .cxx .go .h .hh .hpp .java .js .jsx .kt .m .php .py .pyi .rb .rs .scala .sh .swift .ts"
    b" .tsx".split()
)
# Digits are equal, except zero: no errors is not the same as some.
DIGIT_CLASSES = bytes.maketrans(b"123456789", b"1" * 9)
# What a place consists of then: `3:14` is `1:11`.
PLACE_BYTES = b"01:"

READY = (ESCAPES, FRAMES)


class Examination:
    """What is known about the lines so far."""

    def __init__(self, interest: str = "") -> None:
        self._interest: re.Pattern[bytes] | None = None
        if interest:
            import re

            self._interest = re.compile(interest.encode(), re.MULTILINE)
        self.groups = Groups()
        # How many lines have each kind, how many were examined, and how many are like no other.
        self.kind_counts: dict[str, int] = {}
        self.lines = self.single_lines = 0
        self._is_diff = False
        # How many lines of the block are a list of commits, whether it goes on, and how many were in it.
        self._history_lines, self._is_history = 0, False
        self._commits = 0
        self._judged: dict[bytes, str] = {}
        # Headings, as they are and without digits.
        self._headings: set[bytes] = set()
        # The number of each message, and how often it was found.
        self._repeats: dict[bytes, tuple[int, int]] = {}

    def interesting_lines(self, block: bytes) -> Iterator[int]:
        """Yield the numbers of lines that match the pattern of the caller, the first ones of a block."""
        if self._interest is None:
            return
        number = counted = 0
        for match in islice(self._interest.finditer(block), MOST_INTERESTING):
            number += block.count(b"\n", counted, match.start())
            counted = match.start()
            yield number

    def block(self, lines: Sequence[bytes], numbers: Sequence[int], *, in_context: bool) -> list[Draft]:
        """Return drafts for lines with these numbers.

        Lines that are not next to each other are not `in_context`: then each is examined by itself.
        """
        data = b"\n".join(lines)
        if b"\x1b" in data:
            data = ESCAPES.sub(b"", data)
        if b"\r" in data:
            # At the end of a line it says nothing.
            data = data.replace(b"\r\n", b"\n")
            data = FRAMES.sub(b"", data)
        plain = data.split(b"\n")
        masks = data.translate(ONE_DIGIT).split(b"\n")
        words = [line.split() for line in words_of(data).split(b"\n")]
        word_counts: dict[bytes, int] = {}
        _count_elements(word_counts, chain.from_iterable(words))
        groups = self.groups.learn(plain, masks, words, word_counts)
        novel = self.groups.novel(words, groups, word_counts)
        self._history_lines = 0
        if self._is_history or (not self.lines and may_be_commit(plain[0])):
            from tokcap.findings.history import history_lines

            self._history_lines = history_lines(plain, goes_on=self._is_history)
            # What they are about does not fail now, so no rule looks at them.
            self._is_history = self._history_lines == len(plain)
        self.lines += len(lines)
        self._is_diff = self._is_diff or (in_context and is_diff(data))
        drafts = list(self._failures(data, plain, words, groups, numbers, Judge(word_counts)))
        for draft in drafts:
            draft.is_novel = draft.line - numbers[0] in novel
        if in_context:
            drafts += list(self._structure(drafts, plain, masks, words, word_counts, groups, numbers[0]))
            drafts += self._examples(plain, groups, numbers[0], novel)
        return drafts

    def _failures(
        self,
        data: bytes,
        plain: Sequence[bytes],
        words: Sequence[Sequence[bytes]],
        groups: Sequence[int],
        numbers: Sequence[int],
        judge: Judge,
    ) -> Iterator[Draft]:
        """Yield the lines that the rules know, or that the caller is interested in."""
        kind_counts, interest = self.kind_counts, self._interest
        is_cold, in_diff, past = judge.telling.keys().isdisjoint, self._is_diff, self._history_lines
        data = b"\n" + data
        marks = rules.MARKS[:1] if data.isascii() else rules.MARKS
        may_be_marked = any(mark in data for mark in marks) or rules.NUMBERED.search(data) is not None
        chosen: Sequence[int] = range(len(plain))
        if not (interest or may_be_marked):
            chosen = [n for n, line in enumerate(words) if not is_cold(line)]
        for n in chosen:
            line = plain[n]
            kind = ""
            if interest and interest.search(line):
                kind = "interest"
            elif n < past or (in_diff and line[:1] in DIFF_MARKERS and not line.endswith(CHANGES)):
                continue
            elif not is_cold(words[n]):
                kind = self._kind_of(line, words[n], judge)
            if may_be_marked and not kind and line[:1] in MARKS and rules.MARKED_LINES.match(line):
                kind = rules.FAILED
            if not kind:
                continue
            kind_counts[kind] = kind_counts.get(kind, 0) + 1
            # Numbered failures are different ones, even with the same title.
            repeat, times = (0, 0) if is_numbered(line) else self._repeat_of(line)
            if times >= MOST_REPEATED and kind != "interest":
                continue
            draft = Draft(numbers[n], kind, groups[n])
            draft.repeat = repeat
            if line.startswith(SIDE_FILES):
                draft.is_side = True
            elif line.startswith(SYSTEM_FILES):
                draft.strength = SYSTEM_STRENGTH
            if line.find(HINT) >= 0:
                draft.strength *= HINT_STRENGTH
            yield draft

    def _repeat_of(self, line: bytes) -> tuple[int, int]:
        """Return the number of a message, and how often it was found before."""
        start = prefix_bytes(line)
        message = message_of(line[start : start + MESSAGE_BYTES])
        repeat, times = self._repeats.get(message, (len(self._repeats) + 1, 0))
        if times or len(self._repeats) < MOST_MESSAGES:
            self._repeats[message] = (repeat, times + 1)
        return repeat, times

    def _kind_of(self, line: bytes, words: Sequence[bytes], judge: Judge) -> str:
        """Return the kind of a line; remember it for lines that differ only in digits, or in the file."""
        key = line[:MESSAGE_BYTES].translate(DIGIT_CLASSES)
        file, _, rest = key.partition(b":")
        if file.endswith(SOURCE_FILES) and file.find(b" ") < 0:
            place, _, message = rest.partition(b": ")
            if not place.strip(PLACE_BYTES):
                # No line begins so.
                key = b"\n" + message
        kind = self._judged.get(key)
        if kind is None:
            kind = judge.kind_of(line, words)
            if len(self._judged) < MOST_MESSAGES:
                self._judged[key] = kind
        return kind

    def _structure(
        self,
        failures: Sequence[Draft],
        plain: Sequence[bytes],
        masks: Sequence[bytes],
        words: Sequence[Sequence[bytes]],
        word_counts: dict[bytes, int],
        groups: Sequence[int],
        number: int,
    ) -> Iterator[Draft]:
        """Yield what explains the failures, headings, and outliers."""
        counts = self.groups.counts
        common = [counts[group] > COMMON_LINES for group in groups]
        explained = [draft for draft in failures if draft.kind in EXPLAINED][:MOST_EXPLAINED]
        for draft in explained:
            for place in explain(draft, plain, draft.line - number, common):
                place.repeat, _ = self._repeat_of(plain[place.line - number])
                yield place
        subordinate(failures)
        structure = list(headings(plain, masks, words, word_counts, is_diff=self._is_diff))
        titles = [
            number + n
            for n, kind, strength in structure
            if kind == "heading" and strength >= SECTION_STRENGTH
        ]
        yield from headings_above(explained, titles)
        known = {draft.line for draft in failures}
        if self._history_lines:
            from tokcap.findings.history import commits

            past = plain[: self._history_lines]
            for n, subject, strength in commits(past, words, word_counts, self._commits):
                self._commits += 1
                known.add(number + n)
                yield Draft(number + n, "commit", groups[n], strength)
                if subject > n:
                    yield Draft(number + subject, "subject", 0, 1.0, number + n)
        for n, kind, strength in (*structure, *outliers(words), *incomplete(plain)):
            if number + n not in known:
                if kind == "heading":
                    strength *= self._newness_of(plain[n])
                yield Draft(number + n, kind, groups[n], strength)

    def _newness_of(self, heading: bytes) -> float:
        """Return less than 1 for a heading that stood above another part, also with other numbers."""
        mask = heading.translate(None, HEX_DIGITS)
        is_known, is_like_known = heading in self._headings, mask in self._headings
        if len(self._headings) < MOST_MESSAGES:
            self._headings.update((heading, mask))
        return SAME_HEADING if is_known else LIKE_HEADING if is_like_known else 1.0

    def _examples(
        self, plain: Sequence[bytes], groups: Sequence[int], number: int, novel: dict[int, int]
    ) -> Iterator[Draft]:
        """Yield the first line of each group, all lines of rare groups, and lines that are like no other."""
        first: dict[int, int] = {}
        single, rare = [], []
        counts = self.groups.counts
        for n, group in enumerate(groups):
            if not group:
                single.append(n)
            elif group not in first:
                first[group] = n
            elif counts[group] <= RARE_LINES:
                rare.append(n)
        self.single_lines += len(single)
        for group, n in first.items():
            yield Draft(number + n, "example", group)
        for n in rare[:MOST_SINGLE]:
            yield Draft(number + n, "example", groups[n])
        for n in single[:MOST_SINGLE]:
            if has_words(plain[n]):
                yield Draft(number + n, "example", 0)
        for n, count in novel.items():
            draft = Draft(number + n, "example", 0, 1 / count**0.3)
            draft.is_novel = True
            yield draft


def may_be_commit(line: bytes) -> bool:
    """Return whether a line may be the heading of a commit: it begins with that word, or with a hash."""
    first = line.lstrip(b"* ")[:HASH_BYTES]
    return first == b"commit " or not first.translate(None, HEX_DIGITS)


def is_numbered(line: bytes) -> bool:
    """Return whether a line is a title with a number: `  2) Login`."""
    return line.find(b") ") >= 0 and line.lstrip().partition(b") ")[0].isdigit()
