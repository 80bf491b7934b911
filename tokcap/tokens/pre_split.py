"""The pre-split patterns as published, and as tiktoken runs them fastest.

A pre-split cuts a text into pieces; byte pairs are merged only inside a piece.
"""

from __future__ import annotations

import re

# `\p{L}`, `\p{N}` and so on are those of Unicode 16, in tiktoken and in the package `tokenizers`.
WITH_GROUPS_OF_DIGITS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|%s"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

# DeepSeek splits three times: groups of digits, runs of Chinese and Japanese, then all pieces by words. This
# is one pattern with the same pieces. What no pattern matches is a piece too: controls, for example.
ASIAN_LETTER = "\u4e00-\u9fa5\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
ASIAN_SIGN = "\u309b\u309c\u30a0\u30fb"
ASIAN_REST = "\u3040\u3097\u3098"
ASIAN = "\u4e00-\u9fa5\u3040-\u30ff"
LETTER_OR_MARK = rf"(?:[^\P{{L}}{ASIAN}]|[^\P{{M}}{ASIAN}])"
SIGN = rf"(?:[^\P{{P}}{ASIAN}]|[^\P{{S}}{ASIAN}])"
DEEPSEEK3 = (
    rf"\p{{N}}{{1,3}}|[{ASIAN_REST}]?[{ASIAN_LETTER}]+|[{ASIAN_SIGN}]+"
    r"|[!-/:-@\[-`{-~][A-Za-z]+"
    rf"|[^\r\n\p{{L}}\p{{P}}\p{{S}}\p{{N}}{ASIAN}]?{LETTER_OR_MARK}+"
    rf"| ?{SIGN}+[\r\n]*|\s*[\r\n]+|\s+(?![^\s\p{{N}}{ASIAN}])|\s+"
    rf"|(?:[^\s\p{{L}}\p{{M}}\p{{P}}\p{{S}}\p{{N}}{ASIAN}](?!{LETTER_OR_MARK}))+"
    rf"|(?:[{ASIAN_REST}](?![{ASIAN_LETTER}]))+"
)

# Kimi splits Chinese from other letters. Not every engine has intersections of classes, so they are written
# as alternatives.
_CASELESS = r"[^\P{Lm}\p{Han}]|[^\P{Lo}\p{Han}]|[^\P{M}\p{Han}]"
_UPPER, _LOWER = rf"(?:[\p{{Lu}}\p{{Lt}}]|{_CASELESS})", rf"(?:\p{{Ll}}|{_CASELESS})"
_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
KIMI = (
    rf"\p{{Han}}+|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTION}"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTION}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

# The whole text is one piece in SentencePiece. No token of Gemma, Llama 2, Yi or Baichuan 2 has a digit and
# another character, a letter next to a sign, a line break next to anything else, or a blank after anything
# else, except `> </` of Gemma. What joins nothing else can be a piece. The compiler proves it for each file.
_SIGNS = r"(?:[\x00-\t\x0b-\x1f!-/:-=?@\[-`{-\x7f]|>(?: </)?)+"
_OTHERS = rf"[^\x00-\x7f]+(?:[A-Za-z]+|{_SIGNS})?"
SENTENCEPIECE = rf" *(?:(?:[A-Za-z]+|{_SIGNS})(?:{_OTHERS})*|(?:{_OTHERS})+)| +|\n+|[0-9]"

PRE_SPLIT = {
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)"
        r"|[^\r\n\p{L}\p{N}]?+\p{L}++"
        r"|\p{N}{1,3}+"
        r"| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$"
        r"|\s*[\r\n]"
        r"|\s+(?!\S)"
        r"|\s"
    ),
    "o200k_base": (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n/]*"
        r"|\s*[\r\n]+"
        r"|\s+(?!\S)"
        r"|\s+"
    ),
    # Llama 3, and others that count with its pattern.
    "llama3": WITH_GROUPS_OF_DIGITS % r"\p{N}{1,3}",
    # Qwen 2 to 3: every digit is a piece.
    "qwen2": WITH_GROUPS_OF_DIGITS % r"\p{N}",
    # Mistral since Nemo: `o200k_base` without contractions, and every digit is a piece.
    "tekken": (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    # StarCoder, Command R and others: every digit is a piece, and what is between them is split as in GPT-2.
    "gpt2_digits": (r"\p{N}|'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?![^\s\p{N}])|\s+"),
    # Qwen 3.5: marks belong to words.
    "qwen35": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
        r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "kimi": KIMI,
    "deepseek3": DEEPSEEK3,
    "sentencepiece": SENTENCEPIECE,
}

POSSESSIVE = re.compile(r"([?*+]|\{\d+,\d+\})\+")
LOOKS_AHEAD = r"|\s+(?!\S)"


def faster_for_tiktoken(pattern: str) -> str:
    """Return a pattern with the same matches that takes tiktoken about two thirds of the time.

    tiktoken's engine runs a pattern on a finite automaton if it has no look-around and no possessive
    quantifiers, and backtracks step by step otherwise. The possessive signs here forbid only what could not
    match anyway, so they are removed. All alternatives before the one that looks ahead go into one group.
    """
    if LOOKS_AHEAD not in pattern:
        return pattern
    before, after = POSSESSIVE.sub(r"\1", pattern).split(LOOKS_AHEAD)
    return f"(?:{before}){LOOKS_AHEAD}{after}"
