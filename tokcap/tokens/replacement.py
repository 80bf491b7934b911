"""Bytes that are not UTF-8: where positions in their replacement text are in the source."""

from __future__ import annotations

from tokcap.startup.accelerators import thread
from tokcap.startup.record import TYPE_CHECKING
from tokcap.tokens.chunks import INSIDE_A_CHARACTER, as_text, is_utf8

if TYPE_CHECKING:
    from collections.abc import Sequence

REPLACEMENT_BYTES = len("\ufffd".encode())


def ends_in_source(chunk: bytes, ends: Sequence[int]) -> list[int]:
    """Translate ends in the replacement text to ends in the bytes that it replaces."""
    text = as_text(chunk).encode()
    begins, stops = invalid_spans(chunk)
    found = []
    # The number of replacements before the current end, and how far they shift the text after them.
    passed = shift = 0
    for end in ends:
        while passed < len(begins) and begins[passed] - shift + REPLACEMENT_BYTES <= end:
            shift += stops[passed] - begins[passed] - REPLACEMENT_BYTES
            # From here on, text byte = source byte - shift.
            passed += 1
        inside = end < len(text) and text[end] & 0xC0 == 0x80
        found.append(INSIDE_A_CHARACTER if inside else end + shift)
    return found


def invalid_spans(data: bytes) -> tuple[Sequence[int], Sequence[int]]:
    """Return where each stretch begins and stops that decoding replaces by one replacement character."""
    import codecs
    from array import array

    # Arrays, because there may be as many stretches as bytes.
    begins, stops = array("q"), array("q")

    def record(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeDecodeError)
        begins.append(error.start)
        stops.append(error.end)
        return "\ufffd", error.end

    # Decoding finds its handler by name, so every thread needs its own name.
    name = f"tokcap.invalid_spans.{thread.get_ident()}"
    codecs.register_error(name, record)
    data.decode("utf-8", name)
    return begins, stops


def in_source(data: bytes, place: int) -> int:
    """Translate a position in the replacement text, where a character begins, to the source."""
    return place if is_utf8(data[:place]) else ends_in_source(data, [place])[0]


def whole_characters(data: bytes) -> str:
    """Return the text of some bytes. A character at the end that may be incomplete is left out."""
    import codecs

    return codecs.getincrementaldecoder("utf-8")("replace").decode(data)
