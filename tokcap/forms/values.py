"""JSON values of a cut as JSON text: one document, or one value per line. Values are copied, not parsed."""

from __future__ import annotations

from tokcap.core.cut import Mark
from tokcap.core.mark import mark_element, mark_member
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.core.cut import Values


def as_document(values: Values) -> bytes:
    """Return the values as one JSON text."""
    if values.style == "object":
        return b"{" + b",".join(member_or_mark(item) for item in values.items) + b"}"
    joined = b",".join(element_or_mark(item) for item in values.items)
    return joined if values.style == "bare" else b"[" + joined + b"]"


def as_lines(values: Values) -> bytes:
    """Return one value per line; for a document, one record per line."""
    if values.style == "object":
        return as_document(values) + b"\n"
    lines = (mark_object(item) if isinstance(item, Mark) else item for item in values.items)
    return b"".join(line + b"\n" for line in lines)


def mark_object(mark: Mark) -> bytes:
    """Return the mark as a line of JSON Lines."""
    return b"{" + mark_member(mark) + b"}"


def member_or_mark(item: bytes | Mark) -> bytes:
    return mark_member(item) if isinstance(item, Mark) else item


def element_or_mark(item: bytes | Mark) -> bytes:
    return mark_element(item) if isinstance(item, Mark) else item
