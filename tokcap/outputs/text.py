"""`-o text`: the payload itself, unchanged. A mark is a line of its own."""

from __future__ import annotations

from tokcap.core.cut import Kept, Values
from tokcap.outputs import LEAST_TOKENS
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.core.cut import LongValues, Part
    from tokcap.core.payload import LongText
    from tokcap.core.response import Response


class Text:
    """Bytes without an envelope."""

    has_envelope = False
    has_record_lines = False
    least_tokens = LEAST_TOKENS

    def compose(self, parts: Sequence[Part]) -> bytes:
        text = b""
        for part in parts:
            if isinstance(part, Kept):
                text += part.data
            elif isinstance(part, Values):
                text += part.source or values_as_text(part)
            else:
                # Most output is not cut, and does not load this.
                from tokcap.core.mark import mark_line

                if text and not text.endswith(b"\n"):
                    text += b"\n"
                text += part.row or mark_line(part).encode()
        return text

    def compose_long(self, values: LongValues) -> LongText:
        from tokcap.outputs.json import in_blocks

        return in_blocks(values.source())

    def compose_count(self, tokens: int) -> bytes:
        return b"%d\n" % tokens

    def write(self, response: Response) -> bytes:
        return response.payload or b""

    def blocks(self, response: Response) -> Iterator[bytes]:
        from tokcap.outputs.json import long_blocks

        return long_blocks(response)


def values_as_text(values: Values) -> bytes:
    # Most output is not JSON, and does not load this.
    from tokcap.outputs.json import as_document, as_lines

    if values.style == "lines":
        return as_lines(values)
    return as_document(values) + (b"\n" if values.newline else b"")


TEXT = Text()
