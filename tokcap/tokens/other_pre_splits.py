"""The pre-splits of tokenizers that users add, over character classes (see `tokens.small_text`).

A pre-split has one name in all tables: here, `PATTERNS` in `tokens.chunks`, `PRE_SPLIT` in
`tokens.pre_split`, `RUNS` and `PIECE_ENDS` in `tokens.long_runs`.
"""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING
from tokcap.lean.table import Table
from tokcap.tokens.small_text import BLANK, LETTER, LOWER, NUMBER, UPPER

if TYPE_CHECKING:
    from collections.abc import Callable

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

GPT2_DIGITS = (
    rf"[{NUMBER}]|'(?:[sdmt]|ll|ve|re)"
    rf"| ?[{LETTER}]+| ?[^{BLANK}{LETTER}{NUMBER}]+"
    rf"|[{BLANK}]+(?![^{BLANK}{NUMBER}])"
    rf"|[{BLANK}]+"
)

QWEN35 = (
    CONTRACTION + rf"|[^\r\n{LETTER}{NUMBER}]?[{LETTER}\x83]+"
    rf"|[{NUMBER}]"
    rf"| ?[^{BLANK}{LETTER}\x83{NUMBER}]+[\r\n]*"
    rf"|[{BLANK}]*[\r\n]+"
    rf"|[{BLANK}]+(?![^{BLANK}])"
    rf"|[{BLANK}]+"
)

# Over the classes of `tokens.han_classes`.
KIMI = (
    rf"\x89+|[^\r\n{LETTER}\x89{NUMBER}]?[{UPPER}]*[{LOWER}]+(?:{CONTRACTION})?"
    rf"|[^\r\n{LETTER}\x89{NUMBER}]?[{UPPER}]+[{LOWER}]*(?:{CONTRACTION})?"
    rf"|[{NUMBER}]{{1,3}}"
    rf"| ?[^{BLANK}{LETTER}\x89{NUMBER}]+[\r\n]*"
    rf"|[{BLANK}]*[\r\n]+"
    rf"|[{BLANK}]+(?![^{BLANK}])"
    rf"|[{BLANK}]+"
)

# Over the bytes of a text: what is not ASCII needs no class.
_SIGNS = r"(?:[^A-Za-z0-9 \n>\x80-\xff]++|>(?: </)?+)++"
_OTHERS = rf"[\x80-\xff]++(?:[A-Za-z]++|{_SIGNS})?+"
SENTENCEPIECE = rf" *+(?:(?:[A-Za-z]++|{_SIGNS})(?:{_OTHERS})*+|(?:{_OTHERS})++)| ++|\n++|[0-9]"

# The same for texts of ASCII alone, where most pieces are words with or without a blank.
_ASCII_SIGN = r"!-/:-@\[-`{-~"
_ASCII_BLANK = r"\t-\r "
ASCII_DEEPSEEK3 = (
    rf"[^\r\nA-Za-z{_ASCII_SIGN}0-9]?+[A-Za-z]++"
    rf"|[{_ASCII_SIGN}][A-Za-z]++"
    rf"| ?+[{_ASCII_SIGN}]++[\r\n]*+"
    r"|[0-9]{1,3}+"
    rf"|[{_ASCII_BLANK}]*[\r\n]++"
    rf"|[{_ASCII_BLANK}]+(?![^{_ASCII_BLANK}0-9])"
    rf"|[{_ASCII_BLANK}]++"
    r"|(?:[\x00-\x08\x0e-\x1f\x7f](?![A-Za-z]))++"
)
OTHER_ASCII_PRE_SPLIT = {"deepseek3": ASCII_DEEPSEEK3.encode()}

OTHER_CLASS_PRE_SPLIT = {
    "llama3": with_groups_of_digits(rf"[{NUMBER}]{{1,3}}+"),
    "qwen2": with_groups_of_digits(rf"[{NUMBER}]"),
    "tekken": TEKKEN.encode(),
    "gpt2": GPT2.encode(),
    "gpt2_digits": GPT2_DIGITS.encode(),
    "qwen35": QWEN35.encode(),
    "kimi": KIMI.encode(),
    "deepseek3": DEEPSEEK3.encode(),
    "sentencepiece": SENTENCEPIECE.encode(),
}
# How many digits a piece has at most; 0: any number.
DIGIT_GROUPS = {
    **dict.fromkeys(("cl100k_base", "o200k_base", "llama3", "deepseek3", "kimi"), 3),
    **dict.fromkeys(("qwen2", "qwen35", "tekken", "gpt2_digits", "sentencepiece"), 1),
    "gpt2": 0,
}
# What finds the classes of a pre-split, if not `tokens.character_classes`: signs differ from controls, and
# Chinese from other letters.
CLASSES: Table[Callable[[str], bytes | None]] = Table(
    deepseek3="tokcap.tokens.script_classes:classes_of",
    kimi="tokcap.tokens.han_classes:classes_of",
)
