"""Similar lines: a block of lines in the forms that are compared, and groups of lines that say the same.

Bytes in, numbers of groups out. What a line means is decided elsewhere.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain

from tokcap.startup.patterns import later
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ESCAPES = later(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\-_])")
# All frames of a progress line but the last one. The number is `re.MULTILINE`.
FRAMES = later(rb"^[^\n]*\r(?=[^\r\n])", 8)

# To lower case; punctuation that does not belong to names becomes a blank.
BLANKS = b":()[]{}<>,;\"'`!|=*#?&%\t\r"
WORDS_TABLE = bytes.maketrans(bytes(range(65, 91)) + BLANKS, bytes(range(97, 123)) + b" " * len(BLANKS))
DIGITS = b"0123456789"
# Numbers, because `number in bytes` is faster than `bytes in bytes`.
SLASH, DOT = b"/."
# Digits are equal.
ONE_DIGIT = bytes.maketrans(b"123456789", b"0" * 9)
# Without these, lines that differ in numbers, hashes and addresses are equal.
HEX_DIGITS = b"0123456789abcdef"
HEX_LETTERS = b"abcdefABCDEF"
# A line with fewer letters says nothing, and neither does one with fewer that are not hexadecimal digits.
LEAST_LETTERS, LEAST_WORD_LETTERS = 4, 2
NO_LETTERS = bytes(byte for byte in range(128) if not chr(byte).isalpha())
# The code of a diagnostic has at most this many letters, and this many characters: `f821`, but not `b9`.
CODE_LETTERS, LEAST_CODE_BYTES, CODE_BYTES = 4, 3, 7
# This many words at the end of a line are its message.
MESSAGE_WORDS = 10

# A word is a part of what lines say if one line in this many has it; at least and at most these numbers of
# lines.
FREQUENT_SHARE, LEAST_FREQUENT, MOST_FREQUENT = 100, 3, 20
# The first words of a line decide its group.
KEY_WORDS = 14
MOST_GROUPS = 20_000
# Words that only one line has are remarkable if at most one line in this many of its group has one.
NOVEL_SHARE = 12
UNIQUE_LETTERS = 4
# Words that prose is full of, and words that source code is full of.
PROSE_WORDS = tuple(b"the a an of to is and in that this be are for with it as by or you can".split())
SOURCE_WORDS = tuple(
    b"def return self import class if else elif function const let var int void char static public private"
    b" struct func fn pub mut end then local require raise try except catch throw".split()
)
# One of these words alone can be a name of something else.
LEAST_SOURCE_WORDS = 6


class Block:
    """Lines that are examined together, each in several forms. Line `n` of the block is line `numbers[n]`."""

    def __init__(self, lines: Sequence[bytes], numbers: Sequence[int]) -> None:
        data = b"\n".join(lines)
        if b"\x1b" in data:
            data = ESCAPES.sub(b"", data)
        if b"\r" in data:
            # Before the end of a line it has no meaning.
            data = FRAMES.sub(b"", data.replace(b"\r\n", b"\n"))
        self.data = data
        self.numbers = numbers
        # Without escape sequences; the same with equal digits; and the words in lower case.
        self.plain = data.split(b"\n")
        self.masks = data.translate(ONE_DIGIT).split(b"\n")
        self.words = [line.split() for line in words_of(data).split(b"\n")]
        self.word_counts = Counter(chain.from_iterable(self.words))


class Groups:
    """The groups of lines so far. Group 0 has the lines that are like no other."""

    def __init__(self) -> None:
        # How many lines each group has.
        self.counts = [1]
        # Shares of words that prose and source code are full of, in the first block.
        self.prose = self.source = 0.0
        self._numbers = {b"": 0}
        # Words that decide the group of a line; whether none of them has a digit.
        self._frequent: set[bytes] = set()
        self._ignores_digits = False
        self._is_new = True

    def learn(self, block: Block) -> list[int]:
        """Return the group of each line."""
        if self._is_new:
            self._is_new = False
            self._frequent = self._frequent_words(block)
            said = b"".join(self._frequent)
            self._ignores_digits = len(said.translate(None, DIGITS)) == len(said)
        known: dict[bytes, int] = {}
        found = []
        for mask, words in zip(
            block.masks if self._ignores_digits else block.plain, block.words, strict=True
        ):
            number = known.get(mask)
            if number is None:
                number = known[mask] = self._number_of(words)
            found.append(number)
        for number, count in Counter(found).items():
            if number:
                self.counts[number] += count
        return found

    def _number_of(self, words: Sequence[bytes]) -> int:
        """Return the number of a group, and add the group if it is new."""
        key = b" ".join(filter(self._frequent.__contains__, words[:KEY_WORDS]))
        if words and SLASH in words[0]:
            # Files of one directory are of one kind.
            directory = words[0].lstrip(b"./").partition(b"/")[0]
            if directory.isalpha():
                key = directory + b"/ " + key
        number = self._numbers.get(key)
        if number is None:
            if len(self._numbers) >= MOST_GROUPS:
                return 0
            number = self._numbers[key] = len(self.counts)
            self.counts.append(0)
        return number

    def _frequent_words(self, block: Block) -> set[bytes]:
        counts = block.word_counts
        total = sum(counts.values()) or 1
        self.prose = sum([counts.get(word, 0) for word in PROSE_WORDS]) / total
        source = [counts[word] for word in SOURCE_WORDS if word in counts]
        self.source = sum(source) / total if len(source) >= LEAST_SOURCE_WORDS else 0.0
        least = max(LEAST_FREQUENT, min(len(block.words) // FREQUENT_SHARE, MOST_FREQUENT))
        return constant_words(word for word, count in counts.items() if count >= least)

    def novel(self, block: Block, groups: Sequence[int]) -> dict[int, int]:
        """Return lines that differ from their group by a word of their own, with the number of such lines."""
        unique = constant_words(
            word for word, count in block.word_counts.items() if count == 1 and len(word) >= UNIQUE_LETTERS
        )
        by_group: dict[int, list[int]] = {}
        for place, group in enumerate(groups):
            if group and self.counts[group] >= NOVEL_SHARE and not unique.isdisjoint(block.words[place]):
                by_group.setdefault(group, []).append(place)
        return {
            place: len(places)
            for group, places in by_group.items()
            if len(places) * NOVEL_SHARE <= self.counts[group]
            for place in places
        }


def words_of(data: bytes) -> bytes:
    """Return a text in lower case with blanks between words; its lines stay lines."""
    return data.translate(WORDS_TABLE).replace(b". ", b"  ").replace(b".\n", b" \n")


def constant_words(words: Iterable[bytes]) -> set[bytes]:
    """Return the words that can be a part of a message: not numbers, names of files, or identifiers."""
    # Most words are letters, or begin with a digit: only the others are looked at.
    return {
        word
        for word in words
        if len(word) > 2 and (word.isalpha() or (word[0] not in DIGITS and is_constant(word)))
    }


def is_constant(word: bytes) -> bool:
    letters = word.translate(None, DIGITS)
    if len(letters) == len(word):
        return SLASH not in word and DOT not in word
    return (
        0 < len(letters) <= CODE_LETTERS
        and LEAST_CODE_BYTES <= len(word) <= CODE_BYTES
        and letters.isalpha()
        and word.startswith(letters)
    )


def message_of(line: bytes) -> bytes:
    """Return what a line says: its last words, without the place at its beginning, numbers and hashes."""
    message = (line.partition(b": ")[2] or line).translate(None, HEX_DIGITS)
    return b" ".join(message.split()[-MESSAGE_WORDS:])


def has_words(line: bytes) -> bool:
    """Return whether a line has words: some letters, and not only hexadecimal digits."""
    letters = line.translate(None, NO_LETTERS)
    return len(letters) >= LEAST_LETTERS and len(letters.translate(None, HEX_LETTERS)) >= LEAST_WORD_LETTERS


def without_numbers(block: bytes) -> list[bytes]:
    """Return the lines of a block, which ends with a line end or not, without hexadecimal digits."""
    masks = block.translate(None, HEX_DIGITS).split(b"\n")
    if block.endswith(b"\n"):
        masks.pop()
    return masks
