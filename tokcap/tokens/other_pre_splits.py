"""The pre-splits of tokenizers that users add, over character classes (see `tokens.small_text`).

A pre-split has one name in all tables: here, `PATTERNS` in `tokens.chunks`, `PRE_SPLIT` in
`tokens.pre_split`, `RUNS` and `PIECE_ENDS` in `tokens.long_runs`.
"""

from __future__ import annotations

from tokcap.tokens.small_text import BLANK, LETTER, LOWER, NUMBER, UPPER

CONTRACTION = r"'(?:[SDMTsdmt\x87]|[Ll][Ll]|[Vv][Ee]|[Rr][Ee])"


def with_groups_of_digits(digits: str) -> bytes:
    """Return the pattern of Llama 3, with another group of digits."""
    return (
        CONTRACTION + rf"|[^\r\n{LETTER}{NUMBER}]?+[{LETTER}]++"
        rf"|{digits}"
        rf"| ?[^{BLANK}{LETTER}{NUMBER}]++[\r\n]*+"
        rf"|[{BLANK}]*[\r\n]+"
        rf"|[{BLANK}]+(?![^{BLANK}])"
        rf"|[{BLANK}]+"
    ).encode()


TEKKEN = (
    rf"[^\r\n{LETTER}{NUMBER}]?[{UPPER}]*[{LOWER}]+"
    rf"|[^\r\n{LETTER}{NUMBER}]?[{UPPER}]+[{LOWER}]*"
    rf"|[{NUMBER}]"
    rf"| ?[^{BLANK}{LETTER}{NUMBER}]+[\r\n/]*"
    rf"|[{BLANK}]*[\r\n]+"
    rf"|[{BLANK}]+(?![^{BLANK}])"
    rf"|[{BLANK}]+"
)

GPT2 = (
    r"'(?:[sdmt]|ll|ve|re)"
    rf"| ?[{LETTER}]+| ?[{NUMBER}]+| ?[^{BLANK}{LETTER}{NUMBER}]+"
    rf"|[{BLANK}]+(?![^{BLANK}])"
    rf"|[{BLANK}]+"
)

# Over the classes of `tokens.script_classes`.
_SIGN = r"!-/:-@\[-`{-~\x86"
_CONTROL = r"\x00-\x08\x0e-\x1f\x7f\x88"
_ASIAN = r"\x89\x8a"
DEEPSEEK3 = (
    rf"[{NUMBER}]{{1,3}}|\x89+|\x8a+"
    r"|[!-/:-@\[-`{-~][A-Za-z]+"
    rf"|[^\r\n{LETTER}{_SIGN}{NUMBER}{_ASIAN}]?[{LETTER}\x83]+"
    rf"| ?[{_SIGN}]+[\r\n]*"
    rf"|[{BLANK}]*[\r\n]+"
    rf"|[{BLANK}]+(?![^{BLANK}{NUMBER}{_ASIAN}])"
    rf"|[{BLANK}]+"
    rf"|(?:[{_CONTROL}](?![{LETTER}\x83]))+"
)

# Over the bytes of a text: what is not ASCII needs no class.
_SIGNS = r"(?:[^A-Za-z0-9 \n>\x80-\xff]++|>(?: </)?+)++"
_OTHERS = rf"[\x80-\xff]++(?:[A-Za-z]++|{_SIGNS})?+"
SENTENCEPIECE = rf" *+(?:(?:[A-Za-z]++|{_SIGNS})(?:{_OTHERS})*+|(?:{_OTHERS})++)| ++|\n++|[0-9]"

OTHER_CLASS_PRE_SPLIT = {
    "llama3": with_groups_of_digits(rf"[{NUMBER}]{{1,3}}+"),
    "qwen2": with_groups_of_digits(rf"[{NUMBER}]"),
    "tekken": TEKKEN.encode(),
    "gpt2": GPT2.encode(),
    "deepseek3": DEEPSEEK3.encode(),
    "sentencepiece": SENTENCEPIECE.encode(),
}
# How many digits a piece has at most; 0: any number.
DIGIT_GROUPS = {
    **dict.fromkeys(("cl100k_base", "o200k_base", "llama3", "deepseek3"), 3),
    **dict.fromkeys(("qwen2", "tekken", "sentencepiece"), 1),
    "gpt2": 0,
}
# Pre-splits that tell signs from controls, and Chinese and Japanese from other letters.
WITH_SCRIPTS = ("deepseek3",)
