"""A pre-split as OpenAI published it in; the same one out, as tiktoken's engine runs it fastest.

That engine hands a pattern without look-around and possessive quantifiers to a finite automaton, and walks
step by step through any other. So the possessive signs, which only forbid what could not match anyway, are
left out, and all alternatives before the one that looks ahead are put into one group.
"""

from __future__ import annotations

import re

POSSESSIVE = re.compile(r"([?*+]|\{\d+,\d+\})\+")
LOOKS_AHEAD = r"|\s+(?!\S)"


def grouped(pattern: str) -> str:
    """The pattern with the same matches that takes about two thirds of the time."""
    before, after = POSSESSIVE.sub(r"\1", pattern).split(LOOKS_AHEAD)
    return f"(?:{before}){LOOKS_AHEAD}{after}"
