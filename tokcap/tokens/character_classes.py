"""Translate a text to one byte per character: the class that the pre-splits see in it.

An ASCII character stays as it is, any other becomes its class. `small_text.CLASS_PRE_SPLIT` uses the same
numbers.
"""

from __future__ import annotations

import codecs

UPPER, LOWER, CASELESS, MARK, NUMBER, BLANK, REST, LONG_S = range(0x80, 0x88)

CLASS_OF_CATEGORY = {
    category: character_class
    for character_class, categories in {
        UPPER: "Lu Lt",
        LOWER: "Ll",
        CASELESS: "Lm Lo",
        MARK: "Mn Mc Me",
        NUMBER: "Nd Nl No",
        # Surrogates (Cs) and unassigned characters (Cn) have no class.
        REST: "Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co",
    }.items()
    for category in categories.split()
}

# White_Space of Unicode beyond ASCII. `str.isspace` uses another definition.
BLANKS = (0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)

# U+017F matches `s` when case is ignored, so it can end a contraction.
SPECIAL = {**dict.fromkeys(BLANKS, BLANK), 0x17F: LONG_S}

# The version of tiktoken's tables. If Python's are newer, only characters older than both have a known class.
NEWEST_UNICODE = (16, 0)


class UnknownClass(Exception):
    """A character whose class may differ in tiktoken's tables. Only tiktoken can count it."""


class Classes(dict[int, int]):
    """Code point to class, filled on demand."""

    def __missing__(self, code_point: int) -> int:
        import unicodedata

        character = chr(code_point)
        found = CLASS_OF_CATEGORY.get(unicodedata.category(character))
        version = tuple(map(int, unicodedata.unidata_version.split(".")[:2]))
        if found is None or (version > NEWEST_UNICODE and unicodedata.ucd_3_2_0.category(character) == "Cn"):
            raise UnknownClass(f"U+{code_point:04X}")
        self[code_point] = found
        return found


CLASSES = Classes(SPECIAL)


def classify(error: UnicodeError) -> tuple[bytes, int]:
    """Return the classes of a run of characters that are not ASCII."""
    assert isinstance(error, UnicodeEncodeError)
    run = error.object[error.start : error.end]
    return run.translate(CLASSES).encode("latin-1"), error.end


# Encoding to ASCII calls the handler only for runs that are not ASCII, so the rest runs at full speed.
codecs.register_error("tokcap.classes", classify)


def classes_of(text: str) -> bytes | None:
    """Return one byte per character; None if a character has no known class."""
    try:
        return text.encode("ascii", "tokcap.classes")
    except UnknownClass:
        return None
