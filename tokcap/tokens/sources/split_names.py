"""Published pre-split patterns, and the names that tokcap has for them.

A pattern is compared letter by letter. Two patterns that differ in a letter may differ in a token, so a
pattern that is not listed is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcap.tokens.pre_split import PRE_SPLIT
from tokcap.tokens.sources.base import NotExact

if TYPE_CHECKING:
    from collections.abc import Sequence

# What `ByteLevel` does if no other pattern is given.
GPT2 = PRE_SPLIT["gpt2"]

DEEPSEEK3 = (
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    # The line breaks in it are written as themselves.
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
    "|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
)

# Kimi publishes its table without a `tokenizer.json`; this is the pattern of its code.
KIMI = "|".join(
    (
        r"[\p{Han}]+",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
        r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
        r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
DIGIT = r"\p{N}"

# All patterns of a tokenizer, in order.
BY_THEMSELVES = ("llama3", "qwen2", "qwen35", "o200k_base", "tekken", "gpt2")
NAMES: dict[tuple[str, ...], str] = {
    **{(PRE_SPLIT[name],): name for name in BY_THEMSELVES},
    (KIMI,): "kimi",
    (DIGIT, GPT2): "gpt2_digits",
    DEEPSEEK3: "deepseek3",
}


def name_of_splits(patterns: Sequence[str]) -> str:
    """Return the name of a pre-split; raise `Refused` if it is not known."""
    name = NAMES.get(tuple(patterns))
    if name is None:
        shown = " then ".join(patterns) or "none"
        raise NotExact(f"its pre-split is not one that can be compiled: {shown[:200]}")
    return name
