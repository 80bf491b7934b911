"""Safe cuts of the tiktoken encodings: where encoding both sides separately gives the tokens of the whole.

Byte-pair encoding works inside the pieces of a pre-split, so a cut is safe where a piece ends no matter
what is further left or right. The patterns look only at ASCII bytes and at lead bytes of UTF-8, so they
hold for invalid input too.
"""

from __future__ import annotations

from tokcap.lean.patterns import compiled

# After an ASCII letter or digit, before any other ASCII character except an apostrophe, and between a
# letter and a digit. No pre-split lets a piece run from a letter or digit into white space or a sign (a
# contraction starts at its apostrophe), and none looks at the text before a piece.
WORD_END = rb"[A-Za-z0-9](?=[\x00-&(-/:-@\[-`{-\x7f])|[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])"

# After a newline, before something that is neither white space nor `/` (in o200k_base, signs run on over
# newlines and slashes). Lead bytes of UTF-8 that can start white space are left out or restricted: U+0085,
# U+00A0 (C2), U+1680 (E1 9A), U+2000..U+205F (E2 80, E2 81), U+3000 (E3 80).
LINE_START = rb"\n(?=[!-.0-~\xc3-\xe0\xe4-\xf4]|\xe1[^\x9a]|\xe2[^\x80\x81]|\xe3[^\x80])"

WORDS_AND_LINES = WORD_END + rb"|" + LINE_START

# The GPT-2 family takes white space at the very end of a text as one piece, but not the same white space
# before a word. So the start of a line is not safe.
WORDS_ONLY = WORD_END

# Matches end at safe cuts.
PATTERNS = {
    **dict.fromkeys(("cl100k_base", "o200k_base", "o200k_harmony"), WORDS_AND_LINES),
    **dict.fromkeys(("gpt2", "r50k_base", "p50k_base", "p50k_edit"), WORDS_ONLY),
}


class SafeCuts:
    """The safe cuts of one encoding. An encoding that is not in `PATTERNS` has none."""

    def __init__(self, encoding: str) -> None:
        source = PATTERNS.get(encoding)
        self.pattern = compiled(source) if source else None

    def first_after(self, data: bytes | bytearray, search_from: int) -> int | None:
        """Return the first safe cut after `search_from`; None if there is none."""
        match = self.pattern.search(data, search_from) if self.pattern else None
        return match.end() if match else None
