"""The index of a large JSON payload: whether it is valid, the number of its records, places to start reading.

The payload is read once, in pieces, and checked by compiled code. A piece ends where a child of the main
container seems to end. That is proven: the text between two places is valid in brackets of its own only if
both places are between children of the same container. The memory does not depend on the number of values.
"""

from __future__ import annotations

from operator import itemgetter

from tokcap.core.seek_points import ShapeSeekPoints
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes.json_main_path import closing, is_countable, main_path, opening, seams
from tokcap.shapes.json_text.compiled import (
    Refused,
    check_document,
    count_elements,
    members_of,
    members_of_piece,
    values_of,
)
from tokcap.shapes.json_text.tree import ARRAY, OBJECT, Reader

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.core.payload import Payload
    from tokcap.shapes.json_main_path import Level

# The size of a piece, and of the largest one if children are long.
PIECE_BYTES, MOST_PIECE_BYTES = 1 << 16, 4 << 20
# How much of the beginning is read to find the main container.
HEAD_BYTES, MOST_HEAD_BYTES = 1 << 13, 1 << 19
GROWTH = 4
# How many places are tried as the end of a piece before more is read.
MOST_TRIES = 4
OPENING, FIRST = frozenset(b"{["), itemgetter(0)
# A value in front of a piece, so that the piece can begin with a comma.
STAND_IN = b'""'


class Indexed(Record):
    """What the index says about all of a payload; the seek points are in the payload."""

    # None if the document has no array at its top, or more than one.
    total_count: int | None = None


class PayloadBytes:
    """The bytes of a payload as a sequence. Only the parts that are asked for are read."""

    def __init__(self, payload: Payload) -> None:
        self._payload = payload

    def __len__(self) -> int:
        return self._payload.size

    def __getitem__(self, part: slice) -> bytes:
        start, stop, _ = part.indices(self._payload.size)
        return self._payload.read(start, max(start, stop))


class DocumentIndex:
    """Indexes one document that begins at `begin`."""

    def __init__(self, payload: Payload, begin: int, piece_bytes: int = PIECE_BYTES) -> None:
        self._payload = payload
        self._begin = begin
        self._piece_bytes = piece_bytes
        # The beginnings of containers that were tried.
        self._tried: set[tuple[int, ...]] = set()
        # See `Refused`.
        self.accepted: tuple[int, bytes] | None = None

    def build(self) -> Indexed:
        """Check and count all of it, and give the payload its seek points; `Refused` if that fails."""
        heads: list[tuple[bytes, Sequence[Level]]] = []
        head_bytes = min(HEAD_BYTES, self._piece_bytes)
        # Records are in an array more often than in an object.
        while head_bytes <= MOST_HEAD_BYTES:
            head = self._payload.read(self._begin, min(self._begin + head_bytes, self._payload.size))
            heads.append((head, main_path(head)))
            if (found := self._try(*heads[-1], ARRAY)) is not None:
                return found
            head_bytes *= GROWTH
        # A short head may end in the first of many members.
        for head, path in reversed(heads):
            if (found := self._try(head, path, OBJECT)) is not None:
                return found
        raise Refused("there is no long array or object")

    def _try(self, head: bytes, path: Sequence[Level], kind: bytes) -> Indexed | None:
        """Build the index if the head leads into a long container of this kind."""
        starts = tuple(level.start for level in path)
        if not path or not is_countable(path, kind) or starts in self._tried:
            return None
        self._tried.add(starts)
        try:
            pieces = Pieces(self._payload, self._begin, self._piece_bytes, head, path)
        except Refused:
            return None
        try:
            total = pieces.check()
        except Refused:
            self.accepted = max(pieces.accepted, self.accepted or (0, b""))
            return None
        points = ShapeSeekPoints(self._payload.seek_points, "json", PayloadBytes(self._payload))
        for place, count in pieces.ends:
            points.add(place, list(pieces.numbers(count)))
        return Indexed(total)


class Pieces:
    """The pieces of one main container."""

    def __init__(
        self, payload: Payload, begin: int, piece_bytes: int, head: bytes, path: Sequence[Level]
    ) -> None:
        """Check what is before the container and its first children; `Refused` if that is not valid."""
        main = path[-1]
        check_document(head[: main.last_end] + closing(path))
        self._payload = payload
        self._begin = begin
        self._piece_bytes = piece_bytes
        # The containers around the children of the main container, which is the last one.
        self._path = path
        self._opener, self._closer = opening(path[-1:]) + STAND_IN, closing(path[-1:])
        # Texts that are between two children, each with the position in it where the first of them ends.
        self._seams = list(seams(head, main))
        self._first_end = begin + main.last_end
        # Where each piece ends, and how many children are before that.
        self.ends: list[tuple[int, int]] = []
        self._count = main.complete
        # How many members of an object at the top are arrays, and how long the last one is, if that is known.
        self._array_length: int | None = None
        self._arrays = main.arrays if len(path) == 1 else path[0].arrays

    @property
    def accepted(self) -> tuple[int, bytes]:
        """See `Refused`."""
        return self.ends[-1][0] if self.ends else self._first_end, b"".join(
            level.kind for level in self._path
        )

    def check(self) -> int | None:
        """Check all pieces and what follows them. Return the number of records in the document."""
        place, piece_bytes = self._first_end, self._piece_bytes
        while self._payload.size - place > piece_bytes:
            piece = self._payload.read(place, place + piece_bytes)
            end, count = self._end_of_piece(piece)
            if not end:
                piece_bytes *= GROWTH
                if piece_bytes > max(MOST_PIECE_BYTES, self._piece_bytes):
                    raise Refused(f"no child ends after byte {place}")
                continue
            place, piece_bytes = place + end, self._piece_bytes
            self._count += count
            self.ends.append((place, self._count))
        return self._finish(self._payload.read(place, self._payload.size))

    def _end_of_piece(self, piece: bytes) -> tuple[int, int]:
        """Return where the last child in a piece ends, and how many there are; (0, 0) if none is found."""
        for seam, inside in self._seams:
            stop = len(piece)
            for _ in range(MOST_TRIES):
                found = piece.rfind(seam, 0, stop)
                if found + inside <= 0:
                    break
                try:
                    count = self._children(self._opener + piece[: found + inside] + self._closer)
                except Refused:
                    stop = found + len(seam) - 1
                else:
                    return found + inside, count - 1
        return 0, 0

    def _children(self, text: bytes) -> int:
        """Return how many children a piece has."""
        if self._path[-1].kind == ARRAY:
            return count_elements(text)
        values = members_of_piece(text)
        if len(self._path) == 1:
            for array in (value for value in values if value[:1] == ARRAY):
                self._arrays, self._array_length = self._arrays + 1, count_elements(array)
        return len(values)

    def _finish(self, rest: bytes) -> int | None:
        """Check what follows the last piece. Return the number of records in the document."""
        text = opening(self._path) + STAND_IN + rest
        if self._path[0].kind == ARRAY:
            return self._count + count_elements(text) - 1
        check_document(text)
        reader = Reader(text, lines=False)
        reader.read_top()
        first, *others = reader.root.children
        arrays = [node for node in others if node.kind == ARRAY]
        if len(arrays) + self._arrays != 1:
            return None
        if first.kind == ARRAY:
            return self._count + first.count - 1
        if arrays:
            return arrays[0].count
        if self._array_length is not None:
            return self._array_length
        raise Refused("the records are before the longest container")

    def numbers(self, count: int) -> Iterator[int]:
        """Yield the state of a seek point (see `tree.Reader`): `count` children are before it."""
        for level in self._path:
            yield from (self._begin + level.begin, self._begin + level.start, level.index)
            yield count if level is self._path[-1] else level.count


def index_lines(payload: Payload, begin: int, piece_bytes: int = PIECE_BYTES) -> Indexed:
    """Index a sequence of objects and arrays whose values end with a line; `Refused` if it is something else.

    `begin` is where the text begins, after a byte order mark.
    """
    found: list[tuple[int, int]] = []
    count, place, size = 0, begin, piece_bytes
    while place < payload.size:
        piece = payload.read(place, min(place + size, payload.size))
        end = len(piece) if place + len(piece) == payload.size else piece.rfind(b"\n") + 1
        if not end:
            size *= GROWTH
            if size > max(MOST_PIECE_BYTES, piece_bytes):
                raise Refused(f"no line ends after byte {place}")
            continue
        values = values_of(piece[:end])
        # Numbers and words must be apart from each other, and the parser does not ask for that.
        if not OPENING.issuperset(map(FIRST, values)):
            raise Refused("there are scalars")
        count, place, size = count + len(values), place + end, piece_bytes
        found.append((place, count))
    points = ShapeSeekPoints(payload.seek_points, "jsonl", PayloadBytes(payload))
    for place, number in found[:-1]:
        points.add(place, [begin, begin, 0, number])
    return Indexed(count)


def index_document(payload: Payload, begin: int, piece_bytes: int = PIECE_BYTES) -> Indexed:
    """Index one document; `Refused` if the parser does not accept it."""
    index = DocumentIndex(payload, begin, piece_bytes)
    try:
        return index.build()
    except Refused:
        pass
    try:
        return check_whole(payload, begin)
    except Refused as refused:
        refused.accepted = index.accepted
        raise


def check_whole(payload: Payload, begin: int) -> Indexed:
    """Check a document at once, and count its records. Seek points are added later, by a reader."""
    payload.check(0, payload.size)
    source = memoryview(payload.view())[begin:]
    if source[:1] == ARRAY:
        return Indexed(count_elements(source))
    if source[:1] != OBJECT:
        check_document(source)
        return Indexed()
    arrays = [value for value in members_of(source).values() if value[:1] == ARRAY]
    return Indexed(count_elements(arrays[0]) if len(arrays) == 1 else None)
