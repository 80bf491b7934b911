"""Published pre-split patterns, and the names that tokcap has for them.

A pattern is compared letter by letter. Two patterns that differ in a letter may differ in a token, so a
pattern that is not listed is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcap.tokens.pre_split import PRE_SPLIT
from tokcap.tokens.sources.base import Refused

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

# All patterns of a tokenizer, in order.
NAMES: dict[tuple[str, ...], str] = {
    **{(PRE_SPLIT[name],): name for name in ("llama3", "qwen2", "o200k_base", "tekken", "gpt2")},
    DEEPSEEK3: "deepseek3",
}


def name_of_splits(patterns: Sequence[str]) -> str:
    """Return the name of a pre-split; raise `Refused` if it is not known."""
    name = NAMES.get(tuple(patterns))
    if name is None:
        shown = " then ".join(patterns) or "none"
        raise Refused(f"its pre-split is not one that can be compiled: {shown[:200]}")
    return name
