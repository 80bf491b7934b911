"""Certain cuts: places where encoding both sides apart is sure to equal encoding the whole.

Byte-pair encoding works inside the pieces of a regular pre-split, so a place is certain when a piece
ends there whatever stands further left or right. All patterns below look at bytes, and only at ASCII
bytes and at lead bytes of UTF-8, so they hold for invalid input as well.
"""

from __future__ import annotations

from tokcap.lean.patterns import compiled
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    import re

# After an ASCII letter or digit, before anything ASCII that is neither one nor an apostrophe, and
# between letter and digit. No pre-split lets a piece run from a letter or digit into a blank or a
# sign (a contraction starts at its apostrophe), and none looks at what stands before a piece.
WORD_END = rb"[A-Za-z0-9](?=[\x00-&(-/:-@\[-`{-\x7f])|[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])"

# After a newline, before something that is certainly no blank and no `/` (o200k_base lets signs run
# on over newlines and slashes). Lead bytes of UTF-8 that begin a blank are left out or narrowed:
# U+0085, U+00A0 (C2), U+1680 (E1 9A), U+2000..U+205F (E2 80, E2 81), U+3000 (E3 80).
LINE_START = rb"\n(?=[!-.0-~\xc3-\xe0\xe4-\xf4]|\xe1[^\x9a]|\xe2[^\x80\x81]|\xe3[^\x80])"

WORDS_AND_LINES = WORD_END + rb"|" + LINE_START

# The GPT-2 family takes blanks at the very end of a text as one piece, but not the same blanks
# before a word. For it, the start of a line is not certain.
WORDS_ONLY = WORD_END

GPT2_FAMILY = frozenset({"gpt2", "r50k_base", "p50k_base", "p50k_edit"})
CL100K_FAMILY = frozenset({"cl100k_base", "o200k_base", "o200k_harmony"})


def certain_cuts_of(encoding: str) -> re.Pattern[bytes] | None:
    """The pattern whose matches end at certain cuts; None for an encoding that is not known."""
    if encoding in CL100K_FAMILY:
        return compiled(WORDS_AND_LINES)
    if encoding in GPT2_FAMILY:
        return compiled(WORDS_ONLY)
    return None
