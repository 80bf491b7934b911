"""`--pointer`: check the pointer, and ask the shape for the value."""

from __future__ import annotations

from tokcap.errors import UsageError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes import SHAPES
from tokcap.shapes.json_text.pointers import has_bad_escape

if TYPE_CHECKING:
    from tokcap.core.payload import Payload
    from tokcap.shapes.base import Value


def value_at(payload: Payload, shape: str, pointer: str) -> Value:
    """Return the value at a pointer; raise `UsageError` if the pointer is not valid."""
    if not pointer.startswith("/"):
        message = f"show: --pointer: {pointer[:80]!r} does not begin with /, as in /items/3/body"
        raise UsageError(message, of_a_subcommand=True)
    if has_bad_escape(pointer):
        message = f"show: --pointer: {pointer[:80]!r} has a ~ that is neither ~0 (for ~) nor ~1 (for /)"
        raise UsageError(message, of_a_subcommand=True)
    return SHAPES[shape].value_at(payload, pointer)
