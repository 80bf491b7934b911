"""Parts of a payload in, the bytes of an answer out. The limit covers exactly what comes from here."""

from __future__ import annotations

from tokcap.record import TYPE_CHECKING
from tokcap.types import Kept

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.types import Mark, Output, Part


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
        else:
            if text and not text.endswith(b"\n"):
                text += b"\n"
            text += mark_line(part).encode()
    return text


def mark_line(mark: Mark) -> str:
    return f"{mark.text} {mark.note}\n" if mark.note else f"{mark.text}\n"


def as_data(parts: Sequence[Part]) -> bytes:
    """`["…"]`, and `["…", "[TRUNCATED]"]` when cut."""
    import orjson

    return orjson.dumps([readable(part.data) if isinstance(part, Kept) else part.text for part in parts])


def as_lines(parts: Sequence[Part]) -> bytes:
    """One JSON string per line of text, its line end included: joined, they are the text again."""
    import orjson

    lines = b""
    for part in parts:
        if isinstance(part, Kept):
            # Not `splitlines`, which knows a dozen other line ends.
            *ended, last = readable(part.data).split("\n")
            records = [line + "\n" for line in ended] + ([last] if last else [])
            # As an indented array each record has a line; no other newline is left unescaped.
            array = orjson.dumps(records, option=orjson.OPT_INDENT_2)
            lines += array.removeprefix(b"[\n  ").removesuffix(b"\n]").replace(b",\n  ", b"\n") + b"\n"
        else:
            lines += orjson.dumps({part.text: True}) + b"\n"
    return lines


def readable(data: bytes) -> str:
    """Bytes as text; what is no UTF-8 becomes the replacement character."""
    return data.decode("utf-8", "replace")
