"""The records of an indexed payload in pieces: each is the inside of an array of whole records."""

from __future__ import annotations

from tokcap.core.seek_points import ShapeSeekPoints
from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes.json_index import PayloadBytes
from tokcap.shapes.json_text.record_type import written, written_lines
from tokcap.shapes.json_text.scanner import BYTE_ORDER_MARK, end_of_value, start_of_text
from tokcap.shapes.json_text.tree import NUMBERS_PER_LEVEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.core.payload import Payload

BLANKS = b" \t\r\n"


def borders_of(payload: Payload, shape: str) -> Sequence[int]:
    """Return where the pieces of a payload begin, and its end; nothing if its records are not at the top."""
    points = ShapeSeekPoints(payload.seek_points, shape, PayloadBytes(payload))
    found = [points.before(place) for place in list(payload.seek_points.bytes)]
    # Others are between the values of a record, or in an array that is not at the top.
    places = [point[0] for point in found if point and len(point[1]) == NUMBERS_PER_LEVEL]
    begin = payload.read(0, len(BYTE_ORDER_MARK))
    return [start_of_text(begin), *places, payload.size] if places else ()


class Part:
    """A part of a payload, which can be read in pieces."""

    def __init__(self, payload: Payload, start: int, end: int) -> None:
        self._payload = payload
        self.start, self.end = start, end

    @property
    def size(self) -> int:
        return self.end - self.start

    def read(self, start: int, stop: int) -> bytes:
        return self._payload.read(self.start + start, min(self.start + stop, self.end))


def array_inside(payload: Payload) -> tuple[Part, Sequence[int]] | None:
    """Return the long array that is a member of an object at the top, and the borders of its pieces."""
    points = ShapeSeekPoints(payload.seek_points, "json", PayloadBytes(payload))
    found = [points.before(place) for place in list(payload.seek_points.bytes)]
    inside = [point for point in found if point and len(point[1]) == 2 * NUMBERS_PER_LEVEL]
    starts = {numbers[NUMBERS_PER_LEVEL + 1] for _, numbers in inside}
    if len(starts) != 1:
        return None
    (start,) = starts
    last = inside[-1][0]
    opener = b'[""'
    end = last + end_of_value(opener + payload.read(last, payload.size), 0) - len(opener)
    return Part(payload, start, end), [0, *(place - start for place, _ in inside), end - start]


class ArrayPieces:
    """The records of an array: a piece is some of its elements, without a comma at either end."""

    are_lines = False
    opener, separator, closer = b"[", b",", b"]\n"

    def read(self, payload: Payload | Part, borders: Sequence[int]) -> Iterator[bytes]:
        for number in range(len(borders) - 1):
            text = payload.read(borders[number], borders[number + 1]).strip(BLANKS)
            text = text.removeprefix(b"," if number else b"[")
            yield text.removesuffix(b"]") if borders[number + 1] == payload.size else text

    def as_array(self, piece: bytes) -> bytes:
        """Return a piece as an array."""
        return b"[" + piece + b"]"

    def as_text(self, piece: bytes) -> bytes:
        """Return a piece as a text of the shape."""
        return b"[" + piece + b"]"

    def inside(self, text: bytes) -> bytes:
        """Return a text of the shape as a piece."""
        return text.strip(BLANKS)[1:-1]

    def written(self, records: Sequence[object]) -> bytes:
        """Return records as a piece."""
        return written(records)[1:-1]


class LinePieces(ArrayPieces):
    """The records of JSON Lines: a piece is some lines."""

    are_lines = True
    opener, separator, closer = b"", b"", b""

    def read(self, payload: Payload | Part, borders: Sequence[int]) -> Iterator[bytes]:
        for number in range(len(borders) - 1):
            yield payload.read(borders[number], borders[number + 1])

    def as_array(self, piece: bytes) -> bytes:
        """Return lines as an array. If a line does not have exactly one value, it is not valid."""
        return b"[" + piece.strip(BLANKS).replace(b"\n", b",") + b"]"

    def as_text(self, piece: bytes) -> bytes:
        return piece

    def inside(self, text: bytes) -> bytes:
        return text

    def written(self, records: Sequence[object]) -> bytes:
        return written_lines(records)


# How the records of each shape are read and written.
PIECES = {"json": ArrayPieces(), "jsonl": LinePieces()}
