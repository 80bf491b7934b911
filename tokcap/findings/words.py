"""The words of lines: what is said, without numbers, names of files, and case."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# To lower case; punctuation that does not belong to names becomes a blank.
BLANKS = b":()[]{}<>,;\"'`!|=*#?&%\t\r"
WORDS_TABLE = bytes.maketrans(bytes(range(65, 91)) + BLANKS, bytes(range(97, 123)) + b" " * len(BLANKS))
DIGITS = b"0123456789"
# Single bytes are looked for as numbers, more bytes with `find`: `bytes in bytes` first tries whether it is
# given a number, and makes the message of an exception. That takes longer than the search in a line.
SLASH, DOT = ord("/"), ord(".")
# Digits are equal.
ONE_DIGIT = bytes.maketrans(b"123456789", b"0" * 9)
# Without these, lines that differ in numbers, hashes and addresses are equal.
HEX_DIGITS = b"0123456789abcdef"
HEX_LETTERS = b"abcdefABCDEF"
# A line with fewer letters says nothing, nor one with fewer that are no hexadecimal digits.
LEAST_LETTERS, LEAST_WORD_LETTERS = 4, 2
NO_LETTERS = bytes(byte for byte in range(128) if not chr(byte).isalpha())
# The code of a diagnostic has at most so many letters, and so many characters: `f821`, but not `b9`.
CODE_LETTERS, LEAST_CODE_BYTES, CODE_BYTES = 4, 3, 7

# So many words at the end of a line are what it says.
MESSAGE_WORDS = 10


def words_of(data: bytes) -> bytes:
    """Return a text in lower case with blanks between words; its lines stay lines."""
    return data.translate(WORDS_TABLE).replace(b". ", b"  ").replace(b".\n", b" \n")


def is_constant(word: bytes) -> bool:
    """Return whether a word can be a part of what is said: no number, name of a file, or identifier."""
    if word.isalpha():
        return len(word) > 2
    letters = word.translate(None, DIGITS)
    if len(letters) == len(word):
        return len(word) > 2 and SLASH not in word and DOT not in word
    return (
        0 < len(letters) <= CODE_LETTERS
        and LEAST_CODE_BYTES <= len(word) <= CODE_BYTES
        and letters.isalpha()
        and word.startswith(letters)
    )


def constant_words(words: Sequence[bytes]) -> set[bytes]:
    """Return those of many words for which `is_constant` is true, in a third of the time."""
    if not words:
        return set()
    all_letters = b" ".join(words).translate(None, DIGITS).split(b" ")
    return {
        word
        for word, letters in zip(words, all_letters, strict=True)
        if (
            len(word) > 2 and SLASH not in word and DOT not in word
            if len(letters) == len(word)
            else len(word) <= CODE_BYTES and is_constant(word)
        )
    }


def message_of(line: bytes) -> bytes:
    """Return what a line says: its last words, without the place at its beginning, numbers and hashes."""
    message = (line.partition(b": ")[2] or line).translate(None, HEX_DIGITS)
    return b" ".join(message.split()[-MESSAGE_WORDS:])


def has_words(line: bytes) -> bool:
    """Return whether a line has words: some letters, and not only hexadecimal digits."""
    letters = line.translate(None, NO_LETTERS)
    return len(letters) >= LEAST_LETTERS and len(letters.translate(None, HEX_LETTERS)) >= LEAST_WORD_LETTERS
