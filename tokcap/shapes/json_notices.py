"""Notices about JSON values that a window cannot show."""

from __future__ import annotations

from tokcap.core.notice import Notice
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.core.tokenizer import TokenMap
    from tokcap.shapes.json_text.tree import Node

# The size of a larger value is estimated.
EXACT_VALUE_BYTES = 1 << 20
LONGEST_POINTER_SHOWN = 80


def replaced_notice(node: Node, end: int, size: int, tokens: TokenMap) -> Notice:
    """Return the notice about a value that the mark replaces. It ends at `end`, the payload at `size`."""
    pointer = node.pointer()
    place = f"at {shortened_pointer(pointer)}" if pointer else "of the document"
    if end - node.start > EXACT_VALUE_BYTES:
        number = round(tokens.total.tokens * (end - node.start) / size)
        message = f"the value {place} has about {number} tokens, more than fits into a window of this limit"
        return Notice("FIELD_TRUNCATED", message, pointer=pointer, tokens_estimate=number)
    number = tokens.token_at(end - 1) + 1 - tokens.token_at(node.begin)
    with_key = " with its key" if node.key is not None else ""
    message = f"the value {place} has {number} tokens{with_key}, more than fits into a window of this limit"
    return Notice("FIELD_TRUNCATED", message, pointer=pointer, tokens=number)


def missed_notice(pointer: str) -> Notice:
    """Return the notice about a value that no window of this limit can show."""
    message = (
        f"the value at {shortened_pointer(pointer)} shares a token with the value before it, "
        "and both together do not fit into a window of this limit"
    )
    return Notice("FIELD_TRUNCATED", message, pointer=pointer)


def shortened_pointer(pointer: str) -> str:
    """Return a pointer as a message shows it."""
    return pointer if len(pointer) <= LONGEST_POINTER_SHOWN else pointer[: LONGEST_POINTER_SHOWN - 3] + "..."
