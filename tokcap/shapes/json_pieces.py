"""The records of an indexed payload in pieces: each is the inside of an array or object of whole records."""

from __future__ import annotations

from tokcap.core.seek_points import ShapeSeekPoints
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes.json_index import PayloadBytes
from tokcap.shapes.json_text.record_type import written, written_lines
from tokcap.shapes.json_text.scanner import BYTE_ORDER_MARK, end_of_value, start_of_text
from tokcap.shapes.json_text.tree import NUMBERS_PER_LEVEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.core.payload import Payload

BLANKS = b" \t\r\n"
# A container with more around it is not the main one.
MOST_AROUND_BYTES = 8 << 20


def borders_of(payload: Payload, shape: str) -> Sequence[int]:
    """Return where the pieces of a payload begin, and its end; nothing if its records are not at the top."""
    points = ShapeSeekPoints(payload.seek_points, shape, PayloadBytes(payload))
    found = [points.before(place) for place in list(payload.seek_points.bytes)]
    # Others are between the values of a record, or in an array that is not at the top.
    places = [point[0] for point in found if point and len(point[1]) == NUMBERS_PER_LEVEL]
    # A document may be an object of many members.
    begin = start_of_text(payload.read(0, len(BYTE_ORDER_MARK)))
    if not places or (shape == "json" and b"{" in payload.read(begin, places[0]).lstrip(BLANKS)[:1]):
        return ()
    return [begin, *places, payload.size]


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


class MainContainer(Record):
    """The container that holds most of a document, and the text around it."""

    # The container itself, with its brackets, and where its pieces begin and end.
    part: Part
    borders: Sequence[int]
    pieces: ArrayPieces
    # The document up to the opening bracket and from the closing one on, both included.
    before: bytes
    after: bytes
    # How many containers are around it.
    depth: int

    @property
    def around(self) -> bytes:
        """The document with nothing in this container."""
        return self.before + self.after

    @property
    def place(self) -> int:
        """Where the container is in `around`."""
        return len(self.before) - 1

    def read(self, most_bytes: int | None = None) -> Iterator[bytes]:
        """Yield the pieces, or those in about so many bytes."""
        borders = self.borders
        if most_bytes is not None:
            borders = [place for place in borders if place <= most_bytes]
        return self.pieces.read(self.part, borders)


def main_container(payload: Payload) -> MainContainer | None:
    """Return the container of a document that the index has found; None if it has found none."""
    points = ShapeSeekPoints(payload.seek_points, "json", PayloadBytes(payload))
    found = [point for place in list(payload.seek_points.bytes) if (point := points.before(place))]
    # A reader may have added others. Those of the index all are in the container that is open in most.
    paths = [tuple(numbers[1::NUMBERS_PER_LEVEL]) for _, numbers in found]
    if not paths:
        return None
    path = min(set(paths), key=lambda path: (-paths.count(path), path))
    borders = [place for (place, _), one in zip(found, paths, strict=True) if one == path]
    start, last = path[-1], borders[-1]
    if start + payload.size - last > MOST_AROUND_BYTES:
        return None
    opener = payload.read(start, start + 1)
    pieces = PIECES_OF_KIND[opener]
    stand_in = pieces.first_child
    end = last + end_of_value(stand_in + payload.read(last, payload.size), 0) - len(stand_in)
    return MainContainer(
        Part(payload, start, end),
        [0, *(place - start for place in borders), end - start],
        pieces,
        payload.read(0, start + 1).removeprefix(BYTE_ORDER_MARK),
        payload.read(end - 1, payload.size),
        len(path) - 1,
    )


class ArrayPieces:
    """The records of an array: a piece is some of its elements, without a comma at either end."""

    are_lines = False
    # Whether what is in it are records, as elements of one array.
    has_records = True
    opener, separator, closer = b"[", b",", b"]\n"
    brackets = b"[", b"]"
    # A container that can continue with a comma.
    first_child = b'[""'

    def read(self, payload: Payload | Part, borders: Sequence[int]) -> Iterator[bytes]:
        opened, closed = self.brackets
        for number in range(len(borders) - 1):
            text = payload.read(borders[number], borders[number + 1]).strip(BLANKS)
            text = text.removeprefix(b"," if number else opened)
            # A reader adds places after commas.
            yield text.removesuffix(closed if borders[number + 1] == payload.size else b",")

    def as_array(self, piece: bytes) -> bytes:
        """Return a piece as an array."""
        return b"[" + piece + b"]"

    def as_text(self, piece: bytes) -> bytes:
        """Return a piece as a text of the shape."""
        opened, closed = self.brackets
        return opened + piece + closed

    def inside(self, text: bytes) -> bytes:
        """Return a text of the shape as a piece."""
        return text.strip(BLANKS)[1:-1]

    def written(self, records: Sequence[object]) -> bytes:
        """Return records as a piece."""
        return written(records)[1:-1]


class MemberPieces(ArrayPieces):
    """The members of an object: a piece is some of them, without a comma at either end."""

    has_records = False
    brackets = b"{", b"}"
    first_child = b'{"":""'


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
PIECES_OF_KIND = {b"[": PIECES["json"], b"{": MemberPieces()}
