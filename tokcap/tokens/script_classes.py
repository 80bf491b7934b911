"""Character classes that tell signs from controls, and Chinese and Japanese from everything else.

As `tokens.character_classes`, with three more classes, for the pre-split of DeepSeek.
"""

from __future__ import annotations

import codecs

from tokcap.tokens.character_classes import REST, SPECIAL, Classes, UnknownClass

CONTROL, ASIAN_LETTER, ASIAN_SIGN = range(0x88, 0x8B)
ASIAN = (range(0x3040, 0x3100), range(0x4E00, 0x9FA6))


class ScriptClasses(Classes):
    """Code point to class, filled on demand."""

    def __missing__(self, code_point: int) -> int:
        import unicodedata

        found = super().__missing__(code_point)
        if any(code_point in block for block in ASIAN):
            found = ASIAN_SIGN if found == REST else ASIAN_LETTER
        elif found == REST and unicodedata.category(chr(code_point))[0] == "C":
            found = CONTROL
        self[code_point] = found
        return found


CLASSES = ScriptClasses(SPECIAL)


def classify(error: UnicodeError) -> tuple[bytes, int]:
    """Return the classes of a run of characters that are not ASCII."""
    assert isinstance(error, UnicodeEncodeError)
    run = error.object[error.start : error.end]
    return run.translate(CLASSES).encode("latin-1"), error.end


codecs.register_error("tokcap.script_classes", classify)


def classes_of(text: str) -> bytes | None:
    """Return one byte per character; None if a character has no known class."""
    try:
        return text.encode("ascii", "tokcap.script_classes")
    except UnknownClass:
        return None
