"""Text in, one byte per character out: what the pre-splits of the embedded encodings see in it.

An ASCII character stands for itself, any other for its class. The classes are those that the patterns of
both encodings tell apart; `tokens.presplit` names them again.
"""

from __future__ import annotations

import codecs

UPPER, LOWER, CASELESS, MARK, NUMBER, BLANK, REST, LONG_S = range(0x80, 0x88)

CLASS_OF_CATEGORY = {
    category: found
    for found, categories in {
        UPPER: "Lu Lt",
        LOWER: "Ll",
        CASELESS: "Lm Lo",
        MARK: "Mn Mc Me",
        NUMBER: "Nd Nl No",
        # Neither surrogates (Cs) nor what is not assigned (Cn) has a class.
        REST: "Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co",
    }.items()
    for category in categories.split()
}

# Unicode's White_Space beyond ASCII. Python's own idea of blanks is another one.
BLANKS = (0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)

# Without regard to case, this letter is an `s`: it makes a contraction.
SPECIAL = {**dict.fromkeys(BLANKS, BLANK), 0x17F: LONG_S}

# What tiktoken's own tables know. Where Python's are newer, only characters older than both are certain.
NEWEST_UNICODE = (16, 0)


class Doubtful(Exception):
    """A character whose class is not known here for certain: tiktoken has to be asked."""


class Classes(dict[int, int]):
    """Code point to class, found out when first met."""

    def __missing__(self, code_point: int) -> int:
        import unicodedata

        character = chr(code_point)
        found = CLASS_OF_CATEGORY.get(unicodedata.category(character))
        version = tuple(map(int, unicodedata.unidata_version.split(".")[:2]))
        if found is None or (version > NEWEST_UNICODE and unicodedata.ucd_3_2_0.category(character) == "Cn"):
            raise Doubtful(f"U+{code_point:04X}")
        self[code_point] = found
        return found


CLASSES = Classes(SPECIAL)


def classify(error: UnicodeError) -> tuple[bytes, int]:
    """The classes of a run of characters that are not ASCII."""
    assert isinstance(error, UnicodeEncodeError)
    run = error.object[error.start : error.end]
    return run.translate(CLASSES).encode("latin-1"), error.end


# Encoding to ASCII hands over exactly the runs that are none: the rest goes at full speed.
codecs.register_error("tokcap.classes", classify)


def classes_of(text: str) -> bytes | None:
    """One byte per character; None if one of them has no certain class."""
    try:
        return text.encode("ascii", "tokcap.classes")
    except Doubtful:
        return None
