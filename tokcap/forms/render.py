"""Parts of a payload in, the bytes of an answer out. The limit covers exactly what comes from here."""

from __future__ import annotations

from tokcap.core.cut import Kept, Mark, Values
from tokcap.core.mark import mark_element, mark_member, quoted
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.cut import Part
    from tokcap.core.request import Output


def compose(parts: Sequence[Part], output: Output) -> bytes:
    """The payload in its form: as it is, as the value of `data`, or as one JSON value per line."""
    if output == "json":
        return as_data(parts)
    if output == "jsonl":
        return as_lines(parts)
    return as_text(parts)


def as_text(parts: Sequence[Part]) -> bytes:
    """Bytes as they are; a mark is a line of its own."""
    text = b""
    for part in parts:
        if isinstance(part, Kept):
            text += part.data
        elif isinstance(part, Values):
            text += part.source or values_as_text(part)
        else:
            if text and not text.endswith(b"\n"):
                text += b"\n"
            text += part.row or mark_line(part).encode()
    return text


def mark_line(mark: Mark) -> str:
    return f"{mark.text} {mark.note}\n" if mark.note else f"{mark.text}\n"


def values_as_text(values: Values) -> bytes:
    if values.style == "lines":
        return values_as_lines(values)
    return as_document(values) + (b"\n" if values.newline else b"")


def as_document(values: Values) -> bytes:
    """Values as one JSON text."""
    if values.style == "object":
        return b"{" + b",".join(member_or_mark(item) for item in values.items) + b"}"
    joined = b",".join(element_or_mark(item) for item in values.items)
    return joined if values.style == "bare" else b"[" + joined + b"]"


def member_or_mark(item: bytes | Mark) -> bytes:
    return mark_member(item) if isinstance(item, Mark) else item


def element_or_mark(item: bytes | Mark) -> bytes:
    return mark_element(item) if isinstance(item, Mark) else item


def values_as_lines(values: Values) -> bytes:
    """One value per line; of a document, one record per line."""
    if values.style == "object":
        return as_document(values) + b"\n"
    lines = (b"{" + mark_member(item) + b"}" if isinstance(item, Mark) else item for item in values.items)
    return b"".join(line + b"\n" for line in lines)


def as_data(parts: Sequence[Part]) -> bytes:
    """Structured payload as itself; text as `["…"]`, and `["…", "[TRUNCATED]"]` when cut."""
    if len(parts) == 1 and isinstance(parts[0], Values):
        document = as_document(parts[0])
        return b"[" + document + b"]" if parts[0].style == "bare" else document
    strings = []
    for part in parts:
        assert not isinstance(part, Values)
        strings.append(quoted(readable(part.data) if isinstance(part, Kept) else part.text))
    return b"[" + b",".join(strings) + b"]"


def as_lines(parts: Sequence[Part]) -> bytes:
    """One JSON value per line. Of text, one string per line with its line end: they join to the text."""
    lines = b""
    for part in parts:
        if isinstance(part, Values):
            lines += values_as_lines(part)
        elif isinstance(part, Mark):
            lines += b"{" + mark_member(part) + b"}\n"
        else:
            # Not `splitlines`, which knows a dozen other line ends.
            *ended, last = readable(part.data).split("\n")
            records = [line + "\n" for line in ended] + ([last] if last else [])
            lines += b"".join(quoted(record) + b"\n" for record in records)
    return lines


def readable(data: bytes) -> str:
    """Bytes as text; what is no UTF-8 becomes the replacement character."""
    return data.decode("utf-8", "replace")
