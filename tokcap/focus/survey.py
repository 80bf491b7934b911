"""Read a text once, in blocks, and find what matters in it. Memory does not grow with the text.

Every chunking of the text gives the same findings. Only the beginning of a very long line is examined.
"""

from __future__ import annotations

from collections import deque
from itertools import chain, islice

from tokcap.core.cut import Found
from tokcap.focus import rules
from tokcap.focus.judge import Judge, prefix_bytes
from tokcap.focus.ranking import Facts, units_of
from tokcap.focus.structure import commits, headings, history_lines, incomplete, is_diff, outliers
from tokcap.focus.templates import (
    HEX_DIGITS,
    Block,
    Groups,
    constant_words,
    has_words,
    message_of,
    without_numbers,
    words_of,
)
from tokcap.focus.units import Draft, Findings, explain, headings_above, subordinate
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokcap.focus.question import Question
    from tokcap.system.pattern_search import PatternSearch

# A text is read in blocks of about this size.
BLOCK_BYTES = 1 << 17
# Of a text with at most this many blocks, every line is examined together with the lines around it. Of a
# longer one, only this many blocks at both ends are; of the others, the first line of each new kind is.
EXAMINED_BLOCKS, END_BLOCKS = 8, 1
# Only this much of a line is examined.
LINE_BYTES = 1 << 13
MOST_DRAFTS = 4000
# Of a block that is not examined completely, at most this many lines are. This many kinds of lines are
# remembered.
MOST_NEW, MOST_MASKS = 100, 50_000
# The words of at most this many such blocks are remembered.
MOST_WORDY_BLOCKS = 64
# If there are more new lines than that, those with one of these words are examined: this many for each word.
PLAIN_FAILURES = (
    *(b"rror", b"ERR", b"atal", b"FATAL", b"ailed", b"FAIL", b"ailure", b"xception", b"panic", b"CRIT"),
    *(b"critical", b"denied", b"efused", b"timed out", b"abort", b"segfault", b"orrupt", b"unreachable"),
)
MOST_PLAIN = 6
# Ranges of lines that differ only in numbers: the shortest, and how many are remembered.
LEAST_REPEATED, MOST_REPEATS = 3, 2000
LEAST_EQUAL = b"\1" * (LEAST_REPEATED - 1)
MOST_FOUND = 20
# The kinds that `Findings.found` lists, and the kinds for which lines are looked for that explain them.
ANSWER = "answer"
REPORTED = frozenset(("interest", ANSWER, *rules.KINDS)) - {rules.WARNING}
EXPLAINED = REPORTED - {rules.SUMMARY}
# At most this many lines of a block that match the pattern of the caller, if not all lines are examined.
MOST_INTERESTING = 200
# At most this many lines of a block that are like no other, and this many failures with the same message.
MOST_SINGLE, MOST_REPEATED = 1000, 40
# Messages are compared up to this size, and this many messages are remembered.
MESSAGE_BYTES, MOST_MESSAGES = 400, 20_000
# All lines of a kind are examples if there are no more of them; else this many more of each kind and about
# this many of a block are, and the closer they are to each other, the less they are worth.
RARE_LINES, SAMPLES, MOST_SAMPLES, SAMPLE_LOSS = 3, 16, 500, 0.3
# At most this many failures of a block are explained. A line is common if its group has more lines.
MOST_EXPLAINED, COMMON_LINES = 200, 8
# A heading of at least this strength says where the failures below it happened.
SECTION_STRENGTH = 0.55
# What a heading is worth that repeats another one, or repeats it with other numbers.
SAME_HEADING, LIKE_HEADING = 0.3, 0.75
# Files that are rarely what somebody works on, and files of the system.
SIDE_FILES = (
    *(b"tests/", b"test/", b"examples/", b"docs/", b"vendor/", b"third_party/", b"node_modules/", b"deps/"),
)
SYSTEM_FILES = (b"/usr/include", b"/usr/lib", b"/usr/local/lib", b"/opt/")
SYSTEM_STRENGTH = 0.5
# A compiler that guesses what was meant has found a slip, which is likely the cause.
HINT, HINT_STRENGTH = b"id you mean", 1.4
# First bytes of lines that may be marked as failed, and of the lines of a diff.
MARKED = (b" ", b"E", b"\xe2", b"\xc3", b"\t")
DIFF_MARKERS = (b"+", b"-", b" ", b"@")
# The result of `--stat` begins with a blank, as the lines of a diff do.
CHANGES = (b"insertions(+)", b"insertion(+)", b"deletions(-)", b"deletion(-)")
# Digits are equal, except zero: no errors is not the same as some.
DIGIT_CLASSES = bytes.maketrans(b"123456789", b"1" * 9)


def survey(blocks: Iterable[bytes], *, failed: bool | None, interest: str = "", ask: str = "") -> Findings:
    """Return what matters in a text that comes in blocks of any size.

    `failed` says how the command ended, None if that is not known. `interest` is a pattern of the caller, and
    `ask` a question.
    """
    question = None
    if ask:
        # Few calls have one.
        from tokcap.focus.question import Question

        question = Question(ask)
    if not interest:
        return read_through(blocks, Reading(None, question), failed)
    # It imports more than a survey does, and few calls have a pattern.
    from tokcap.system.pattern_search import PatternSearch

    with PatternSearch(interest, "--focus") as search:
        return read_through(blocks, Reading(search, question), failed)


def read_through(blocks: Iterable[bytes], reading: Reading, failed: bool | None) -> Findings:
    for place, block in whole_lines(blocks):
        reading.add(place, block)
    reading.finish()
    examination = reading.examination
    facts = examination.facts(failed=failed, total_lines=reading.lines)
    units = units_of(reading.drafts, facts)
    ranked = sorted((unit for unit in units if unit.kind in REPORTED), key=lambda u: (-u.value, u.first_line))
    return Findings(
        total_lines=reading.lines,
        units=tuple(units),
        found=tuple([Found(unit.first_line, unit.kind) for unit in ranked[:MOST_FOUND]]),
        failed=failed,
        repeats=tuple(reading.repeats),
        begins=reading.begins,
        # The latest commits are the first ones, so a list of them is read from its beginning.
        sameness=0.0 if examination.commits else facts.sameness,
    )


def whole_lines(chunks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield a text in blocks of whole lines, each with the byte where it begins.

    Of a line that is longer than a block, only the beginning is in one. The blocks are the same for every
    chunking.
    """
    pending: list[bytes] = []
    pending_bytes = 0
    # Where the pending bytes begin.
    byte = 0
    is_inside_line = False
    for chunk in chunks:
        if is_inside_line:
            # What comes next belongs to a line that is not examined.
            begin = chunk.find(b"\n") + 1
            byte += begin or len(chunk)
            if not begin:
                continue
            is_inside_line = False
            pending.append(chunk[begin:])
        else:
            pending.append(chunk)
        pending_bytes += len(pending[-1])
        if pending_bytes < BLOCK_BYTES:
            continue
        data, place = b"".join(pending), 0
        while len(data) - place >= BLOCK_BYTES:
            end = data.rfind(b"\n", place, place + BLOCK_BYTES) + 1
            if end:
                yield byte + place, data[place:end]
            else:
                yield byte + place, data[place : place + min(LINE_BYTES, BLOCK_BYTES)] + b"\n"
                end = data.find(b"\n", place + BLOCK_BYTES) + 1
                is_inside_line = not end
                end = end or len(data)
            place = end
        pending, pending_bytes, byte = [data[place:]], len(data) - place, byte + place
    if pending_bytes:
        yield byte, b"".join(pending)


class Reading:
    """A survey in progress: which lines are examined, and what was found."""

    def __init__(self, interest: PatternSearch | None = None, question: Question | None = None) -> None:
        self.examination = Examination(interest, question)
        self.lines = 0
        self.drafts: list[Draft] = []
        self.repeats: list[tuple[int, int]] = []
        # The first lines of blocks, and the bytes where they begin.
        self.begins: dict[int, int] = {}
        # The last blocks are examined together with the lines around them.
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._is_long = False
        # Lines without hexadecimal digits.
        self._masks: set[bytes] = set()
        # Words of the blocks that have much new, and how many blocks those are.
        self._words: set[bytes] = set()
        self._skimmed = 0

    def add(self, place: int, block: bytes) -> None:
        waiting = self._waiting
        waiting.append((place, block))
        if not self._is_long:
            if len(waiting) <= EXAMINED_BLOCKS:
                return
            self._is_long = True
            self._examine([waiting.popleft() for _ in range(END_BLOCKS)])
        while len(waiting) > END_BLOCKS:
            self._skim(*waiting.popleft())

    def finish(self) -> None:
        """Examine the last blocks."""
        if self._waiting:
            self._examine(self._waiting)

    def _examine(self, blocks: Iterable[tuple[int, bytes]]) -> None:
        """Examine all lines of some blocks."""
        line = self.lines
        for place, block in blocks:
            self.begins[line] = place
            line += block.count(b"\n")
        block = b"".join([block for _, block in blocks])
        masks = without_numbers(block)
        self._note_repeats(similar_ranges(masks))
        self._remember(set(masks))
        lines = block.removesuffix(b"\n").split(b"\n")
        self._examine_lines(lines, range(len(lines)), len(lines))

    def _skim(self, place: int, block: bytes) -> None:
        """Examine what is new in a block."""
        self.begins[self.lines] = place
        masks = without_numbers(block)
        count, different = len(masks), set(masks)
        if len(different) == 1 and count >= LEAST_REPEATED:
            self._note_repeats([(0, count)])
        fresh = different - self._masks
        chosen = set(self.examination.interesting_lines(block))
        if fresh:
            new = first_places(masks, fresh)
            if len(new) > MOST_NEW:
                # Everything is new: take some from everywhere, those that plainly say failure, and those with
                # a word that the text did not have before.
                chosen.update(lines_with(PLAIN_FAILURES, block))
                chosen.update(self._with_new_words(block))
                step = len(new) / MOST_NEW
                new = [new[int(n * step)] for n in range(MOST_NEW)]
            chosen.update(new)
        if chosen:
            self._remember(fresh)
            lines = block.split(b"\n")
            self._examine_lines([lines[n] for n in sorted(chosen)], sorted(chosen), count)
        else:
            self.lines += count

    def _with_new_words(self, block: bytes) -> Iterator[int]:
        """Yield lines with a word that is new in this text, the first ones of a block; not quoted source."""
        if self._skimmed >= MOST_WORDY_BLOCKS:
            return
        self._skimmed += 1
        lines = words_of(block).split(b"\n")
        words = constant_words(set(chain.from_iterable(map(bytes.split, lines)))) - self._words
        if self._words:
            places = (
                n for n, line in enumerate(lines) if line[:1].isalpha() and not words.isdisjoint(line.split())
            )
            yield from islice(places, MOST_NEW)
        self._words |= words

    def _remember(self, masks: set[bytes]) -> None:
        if len(self._masks) < MOST_MASKS:
            self._masks |= masks

    def _note_repeats(self, ranges: Iterable[tuple[int, int]]) -> None:
        if len(self.repeats) < MOST_REPEATS:
            self.repeats += [(self.lines + first, self.lines + end) for first, end in ranges]

    def _examine_lines(self, lines: Sequence[bytes], places: Sequence[int], count: int) -> None:
        """Examine lines at these places of a block that has `count` lines."""
        block = Block([line[:LINE_BYTES] for line in lines], [self.lines + n for n in places])
        self.drafts += self.examination.drafts_of(block, in_context=len(lines) == count)
        self.lines += count
        if len(self.drafts) > 2 * MOST_DRAFTS:
            best = sorted(self.drafts, key=lambda draft: (-draft.promise, draft.line))[:MOST_DRAFTS]
            self.drafts = sorted(best, key=lambda draft: draft.line)


class Examination:
    """What is known about the lines so far, and which of them may matter."""

    def __init__(self, interest: PatternSearch | None, question: Question | None) -> None:
        self._interest = interest
        self._question = question
        self._groups = Groups()
        # How many lines have each kind, how many were examined, and how many are like no other.
        self._kind_counts: dict[str, int] = {}
        self._lines = self._single_lines = 0
        self._is_diff = False
        # How many lines of the block are a list of commits, whether it goes on, and how many were in it.
        self._history_lines, self._is_history = 0, False
        self.commits = 0
        self._judged: dict[bytes, str] = {}
        # Headings, as they are and without digits.
        self._headings: set[bytes] = set()
        # The number of each message, and how often it was found.
        self._repeats: dict[bytes, tuple[int, int]] = {}

    def facts(self, *, failed: bool | None, total_lines: int) -> Facts:
        """Return what the ranking has to know about the text as a whole."""
        groups = self._groups
        return Facts(
            failed,
            total_lines,
            self._lines,
            self._single_lines,
            groups.counts,
            self._kind_counts,
            groups.prose,
            groups.source,
        )

    def interesting_lines(self, block: bytes) -> Iterable[int]:
        """Return the numbers of lines that the caller may want, the first ones of a block."""
        found: set[int] = set()
        if self._interest:
            found.update(islice(self._interest.places_in(block), MOST_INTERESTING))
        if self._question:
            found.update(lines_with(self._question.beginnings, block.lower()))
        return found

    def drafts_of(self, block: Block, *, in_context: bool) -> list[Draft]:
        """Return drafts for a block.

        Lines that are not next to each other are not `in_context`: then each is examined by itself.
        """
        groups = self._groups.learn(block)
        novel = self._groups.novel(block, groups)
        self._history_lines = 0
        if self._is_history or not self._lines:
            self._history_lines = history_lines(block.plain, goes_on=self._is_history)
            # What commits are about does not fail now, so no rule looks at them.
            self._is_history = self._history_lines == len(block.plain)
        self._lines += len(block.plain)
        self._is_diff = self._is_diff or (in_context and is_diff(block.data))
        drafts = list(self._failures(block, groups))
        if self._question:
            for n, strength in self._question.answers(block):
                drafts.append(Draft(block.numbers[n], ANSWER, groups[n], strength))
        for draft in drafts:
            draft.is_novel = draft.line - block.numbers[0] in novel
        if in_context:
            drafts += list(self._structure(drafts, block, groups))
            drafts += self._examples(block, groups, novel)
        return drafts

    def _failures(self, block: Block, groups: Sequence[int]) -> Iterator[Draft]:
        """Yield the lines that the rules know, or that the caller is interested in."""
        words, judge = block.words, Judge(block.word_counts)
        wanted = self._interest.places_in(block.data) if self._interest else {}
        is_cold = judge.telling.keys().isdisjoint
        data = b"\n" + block.data
        may_be_marked = any(mark in data for mark in rules.MARKS)
        chosen: Sequence[int] = range(len(words))
        if not (wanted or may_be_marked):
            chosen = [n for n, line in enumerate(words) if not is_cold(line)]
        for n in chosen:
            line = block.plain[n]
            kind = ""
            if n in wanted:
                kind = "interest"
            elif n < self._history_lines or (self._is_diff and is_text_of_diff(line)):
                continue
            elif not is_cold(words[n]):
                kind = self._kind_of(line, words[n], judge)
            if may_be_marked and not kind and line[:1] in MARKED and rules.MARKED_LINES.match(line):
                kind = rules.FAILED
            if not kind:
                continue
            self._kind_counts[kind] = self._kind_counts.get(kind, 0) + 1
            # Numbered failures are different ones, even with the same title.
            repeat, times = (0, 0) if is_numbered(line) else self._repeat_of(line)
            if times >= MOST_REPEATED and kind != "interest":
                continue
            draft = Draft(block.numbers[n], kind, groups[n])
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
        """Return the kind of a line; remember it for lines that differ only in digits."""
        key = line[:MESSAGE_BYTES].translate(DIGIT_CLASSES)
        kind = self._judged.get(key)
        if kind is None:
            kind = judge.kind_of(line, words)
            if len(self._judged) < MOST_MESSAGES:
                self._judged[key] = kind
        return kind

    def _structure(self, failures: Sequence[Draft], block: Block, groups: Sequence[int]) -> Iterator[Draft]:
        """Yield what explains the failures, headings, commits, and outliers."""
        counts, number = self._groups.counts, block.numbers[0]
        common = [counts[group] > COMMON_LINES for group in groups]
        explained = [draft for draft in failures if draft.kind in EXPLAINED][:MOST_EXPLAINED]
        for draft in explained:
            for place in explain(draft, block.plain, draft.line - number, common):
                place.repeat, _ = self._repeat_of(block.plain[place.line - number])
                yield place
        subordinate(failures)
        parts = list(headings(block, is_diff=self._is_diff))
        titles = [number + n for n, kind, value in parts if kind == "heading" and value >= SECTION_STRENGTH]
        yield from headings_above(explained, titles)
        known = {draft.line for draft in failures}
        if self._history_lines:
            for n, subject, strength in commits(block, self._history_lines, self.commits):
                self.commits += 1
                known.add(number + n)
                yield Draft(number + n, "commit", groups[n], strength)
                if subject > n:
                    yield Draft(number + subject, "subject", 0, 1.0, number + n)
        for n, kind, strength in (*parts, *outliers(block.words), *incomplete(block.plain)):
            if number + n not in known:
                newness = self._newness_of(block.plain[n]) if kind == "heading" else 1.0
                yield Draft(number + n, kind, groups[n], strength * newness)

    def _newness_of(self, heading: bytes) -> float:
        """Return less than 1 for a heading that stood above another part, also with other numbers."""
        mask = heading.translate(None, HEX_DIGITS)
        is_known, is_like_known = heading in self._headings, mask in self._headings
        if len(self._headings) < MOST_MESSAGES:
            self._headings.update((heading, mask))
        return SAME_HEADING if is_known else LIKE_HEADING if is_like_known else 1.0

    def _examples(self, block: Block, groups: Sequence[int], novel: dict[int, int]) -> Iterator[Draft]:
        """Yield examples of each group, and lines that are like no other.

        They are the first line, all lines of rare groups, and some of the others, spread over the block.
        """
        by_group: dict[int, list[int]] = {}
        for n, group in enumerate(groups):
            by_group.setdefault(group, []).append(n)
        counts, number = self._groups.counts, block.numbers[0]
        single = by_group.pop(0, [])
        self._single_lines += len(single)
        rare_left, samples_left = MOST_SINGLE, MOST_SAMPLES
        for group, places in sorted(by_group.items(), key=lambda item: len(item[1])):
            yield Draft(number + places[0], "example", group)
            if counts[group] <= RARE_LINES:
                for n in places[1 : rare_left + 1]:
                    yield Draft(number + n, "example", group)
                rare_left = max(rare_left - len(places) + 1, 0)
            elif samples_left > 0:
                last = len(places) - 1
                spread = {places[last * n // SAMPLES]: n for n in range(1, SAMPLES + 1)}
                samples_left -= len(spread)
                for place, n in spread.items():
                    if has_words(block.plain[place]):
                        # The last one is worth most, then the one in the middle, then those between.
                        strength = 1 / (1 + SAMPLE_LOSS * SAMPLES / (n & -n))
                        yield Draft(number + place, "sample", group, strength)
        for n in single[:MOST_SINGLE]:
            if has_words(block.plain[n]):
                yield Draft(number + n, "example", 0)
        for n, count in novel.items():
            draft = Draft(number + n, "example", 0, 1 / count**0.3)
            draft.is_novel = True
            yield draft


def is_text_of_diff(line: bytes) -> bool:
    """Return whether a line of a diff is a part of the files that it compares."""
    return line[:1] in DIFF_MARKERS and not line.endswith(CHANGES)


def is_numbered(line: bytes) -> bool:
    """Return whether a line is a title with a number: `  2) Login`."""
    return line.find(b") ") >= 0 and line.lstrip().partition(b") ")[0].isdigit()


def first_places(masks: Sequence[bytes], wanted: set[bytes]) -> list[int]:
    """Return the first place of each wanted mask, in order."""
    found = dict(zip(reversed(masks), range(len(masks) - 1, -1, -1), strict=True))
    return sorted([found[mask] for mask in wanted])


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


def similar_ranges(masks: Sequence[bytes]) -> list[tuple[int, int]]:
    """Return the ranges of at least three equal masks."""
    # For each line, whether the next one is equal; and how that begins where three are equal.
    are_equal = bytes(map(bytes.__eq__, masks, masks[1:]))
    found = []
    first = are_equal.find(LEAST_EQUAL)
    while first >= 0:
        end = are_equal.find(b"\0", first)
        if end < 0:
            end = len(are_equal)
        found.append((first, end + 1))
        first = are_equal.find(LEAST_EQUAL, end)
    return found
