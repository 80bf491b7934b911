"""Character classes that tell Chinese characters from everything else, for the pre-split of Kimi.

As `tokens.character_classes`, with one more class.
"""

from __future__ import annotations

import codecs

from tokcap.tokens.character_classes import CASELESS, SPECIAL, Classes, UnknownClass

HAN = 0x89
# All letters in these blocks are of the script Han.
HAN_LETTERS = (range(0x3400, 0xA000), range(0xF900, 0xFB00), range(0x20000, 0x40000))
OTHER_HAN_LETTERS = (0x3005, 0x303B, 0x16FE3)
# Numbers, signs and marks of the script, which are rare. Only tiktoken counts them.
NOT_LETTERS = (
    *(range(0x2E80, 0x2FE0), range(0x3007, 0x3008), range(0x3021, 0x302A), range(0x3038, 0x303B)),
    *(range(0x16FE2, 0x16FE3), range(0x16FF0, 0x16FF8)),
)


class HanClasses(Classes):
    """Code point to class, filled on demand."""

    def __missing__(self, code_point: int) -> int:
        if any(code_point in block for block in NOT_LETTERS):
            raise UnknownClass(f"U+{code_point:04X}")
        found = super().__missing__(code_point)
        if found == CASELESS and (
            code_point in OTHER_HAN_LETTERS or any(code_point in block for block in HAN_LETTERS)
        ):
            found = self[code_point] = HAN
        return found


CLASSES = HanClasses(SPECIAL)


def classify(error: UnicodeError) -> tuple[bytes, int]:
    """Return the classes of a run of characters that are not ASCII."""
    assert isinstance(error, UnicodeEncodeError)
    run = error.object[error.start : error.end]
    return run.translate(CLASSES).encode("latin-1"), error.end


codecs.register_error("tokcap.han_classes", classify)


def classes_of(text: str) -> bytes | None:
    """Return one byte per character; None if a character has no known class."""
    try:
        return text.encode("ascii", "tokcap.han_classes")
    except UnknownClass:
        return None
