"""Fit an answer into its limit as an agent writes it: both streams in a JSON string, with escapes."""

from __future__ import annotations

# The fast half of `json`, without the module.
from _json import encode_basestring

from tokcap.lean.record import TYPE_CHECKING
from tokcap.tokens import safe_count

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcap.core.tokenizer import Tokenizer
    from tokcap.steps.answer import Answer


def fit_as_json(answer: Answer, limit: int, tokenizer: Tokenizer, smaller: Callable[[int], Answer]) -> Answer:
    """Return the answer if it fits, else smaller ones until one does. `smaller` makes one for a limit."""
    lower = limit
    while lower > 1 and (cost := cost_as_json(answer, limit, tokenizer)) > limit:
        # Escapes cost about the same share of a smaller answer.
        lower = min(lower * limit // cost, lower - 1) or 1
        answer = smaller(lower)
    return answer


def cost_as_json(answer: Answer, limit: int, tokenizer: Tokenizer) -> int:
    """Return the tokens of both streams in a JSON string; the bytes if they are certain to fit."""
    together = (answer.response.payload or b"") + answer.all_stderr
    escaped = encode_basestring(together.decode("utf-8", "replace"))[1:-1].encode()
    return len(escaped) if len(escaped) <= limit else safe_count(escaped, tokenizer)
