"""The pre-splits that are known: how each divides a text into pieces, and where pieces are certain to end.

Byte pairs are merged only inside a piece. A pattern is compared letter by letter with that of a file: two
patterns that differ in a letter may differ in a token.
"""

from __future__ import annotations

from tokcap.startup.record import Record
from tokcap.tokens.chunks import WORD_ENDS, WORDS_AND_LINES

CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
# Llama 3, GLM, Qwen and others, with the digits that each of them puts together.
WITH_DIGITS = CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
_WORDS = (
    r"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}]*"
    r"[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]+{0}"
    r"|[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}]+"
    r"[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]*{0}"
)
_AFTER_WORDS = r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
O200K = _WORDS.format(CONTRACTION + "?") + r"|\p{N}{1,3}|" + _AFTER_WORDS
# Mistral since Nemo.
TEKKEN = _WORDS.format("") + r"|\p{N}|" + _AFTER_WORDS
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
DIGIT = r"\p{N}"
# Qwen 3.5: marks belong to words.
QWEN35 = (
    CONTRACTION + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# One pattern after the other: groups of digits, runs of Chinese and Japanese, words.
DEEPSEEK3 = (
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    # The line breaks in it are written as themselves.
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
    "|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
)
# Kimi splits Chinese from other letters. Not every engine has intersections of classes, so they are written
# as alternatives.
_CASELESS = r"[^\P{Lm}\p{Han}]|[^\P{Lo}\p{Han}]|[^\P{M}\p{Han}]"
_UPPER, _LOWER = rf"(?:[\p{{Lu}}\p{{Lt}}]|{_CASELESS})", rf"(?:\p{{Ll}}|{_CASELESS})"
KIMI = (
    rf"\p{{Han}}+|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{CONTRACTION}?"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{CONTRACTION}?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# The whole text is one piece in SentencePiece. No token of Gemma, Llama 2, Yi or Baichuan 2 has a digit and
# another character, a letter next to a sign, a line break next to anything else, or a blank after anything
# else, except `> </` of Gemma. What joins nothing else can be a piece; `published` proves it for each file.
_SIGNS = r"(?:[\x00-\t\x0b-\x1f!-/:-=?@\[-`{-\x7f]|>(?: </)?)+"
_OTHERS = rf"[^\x00-\x7f]+(?:[A-Za-z]+|{_SIGNS})?"
CHARACTERS = rf" *(?:(?:[A-Za-z]+|{_SIGNS})(?:{_OTHERS})*|(?:{_OTHERS})+)| +|\n+|[0-9]"

# What joins nothing else in SentencePiece (see `CHARACTERS`). What is before a blank must be ASCII: `▁` is a
# blank too.
CHARACTER_ENDS = (
    *("ab", "a-", "an", "a0", "a/", "a>", "at", "aq"),
    *(f"0{after}" for after in "a0nbtq/>-LX"),
    *(f"n{after}" for after in "a0btq/>-LX"),
    *(f"{before}n" for before in "btq/>-LX"),
    *("-b", "qb", "/b", "tb"),
)

_BLANKS = r"|[\r\n]+|[^\S\r\n]+"


class PreSplit(Record):
    """How a text is divided into pieces."""

    # Applied one after the other, each to what the one before it has made. Empty: the text is one piece.
    patterns: tuple[str, ...]
    # The two bytes around a safe cut, in classes (see `chunks.CutTokenizer`).
    cuts: tuple[str, ...]
    # Runs without the beginning of a piece inside, wherever their own piece began. Cuts are searched for in
    # them by encoding (see `long_runs`); empty: they are not.
    runs: str = ""
    # One pattern for the pieces of long stretches, if `patterns` has another number of patterns.
    pieces: str = ""


_WORD = PreSplit((), WORDS_AND_LINES, r"\p{L}+|[^\s\p{L}\p{N}]+" + _BLANKS)
_CASED_WORD = PreSplit(
    (),
    WORDS_AND_LINES,
    # A capital may follow letters without case, unless there is a small letter further left.
    r"\p{Ll}(?:\p{Ll}|\p{M})+|\p{L}[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[\p{Lu}\p{Lt}]+|[^\s\p{L}\p{N}\p{M}]+"
    + _BLANKS,
)
PRE_SPLITS = {
    "cl100k_base": _WORD.replace(patterns=(CL100K,)),
    "o200k_base": _CASED_WORD.replace(patterns=(O200K,)),
    "llama3": _WORD.replace(patterns=(WITH_DIGITS % r"\p{N}{1,3}",)),
    # Qwen 2 to 3: every digit is a piece.
    "qwen2": _WORD.replace(patterns=(WITH_DIGITS % DIGIT,)),
    "qwen35": PreSplit((QWEN35,), WORDS_AND_LINES, r"[\p{L}\p{M}]+|[^\s\p{L}\p{M}\p{N}]+" + _BLANKS),
    "tekken": _CASED_WORD.replace(patterns=(TEKKEN,)),
    "gpt2": PreSplit((GPT2,), WORD_ENDS, r"\p{L}+|\p{N}+|[^\s\p{L}\p{N}]+|\s+"),
    # StarCoder, Command R and others: every digit is a piece, and what is between them is split as in GPT-2.
    "gpt2_digits": PreSplit(
        (DIGIT, GPT2),
        WORD_ENDS,
        r"\p{L}+|[^\s\p{L}\p{N}]+|\s+",
        r"\p{N}|'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?![^\s\p{N}])|\s+",
    ),
    "deepseek3": PreSplit(DEEPSEEK3, WORDS_AND_LINES),
    "kimi": PreSplit((KIMI,), WORDS_AND_LINES),
    "sentencepiece": PreSplit(
        (),
        CHARACTER_ENDS,
        r"[^\x00-@\[-`{-\x7f]+|[\x00-\t\x0b-\x1f!-/:-@\[-`{-\x7f]+| +|\n+",
        CHARACTERS,
    ),
}
# The names that tiktoken has for encodings with a pre-split of this table.
SAME = {**dict.fromkeys(("r50k_base", "p50k_base", "p50k_edit"), "gpt2")}


def name_of(patterns: tuple[str, ...]) -> str | None:
    """Return the name of the pre-split with these patterns; None if it is not known."""
    return next((name for name, one in PRE_SPLITS.items() if patterns and one.patterns == patterns), None)
