"""The index of a large JSON payload: whether it is valid, the number of its records, places to start reading.

The payload is read once, in pieces, and checked by compiled code. A piece ends where an element of the main
array seems to end. That is proven: the text between two places is valid in brackets of its own only if both
places are between elements of the same array. The memory does not depend on the number of values.
"""

from __future__ import annotations

from operator import itemgetter

from tokcap.core.seek_points import ShapeSeekPoints
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes.json_text.compiled import Refused, check_document, count_elements, members_of, values_of
from tokcap.shapes.json_text.patterns import BEFORE_CUT_STRING, BLANKS, QUOTED
from tokcap.shapes.json_text.scanner import CLOSED, CLOSERS, OPENED, walk
from tokcap.shapes.json_text.tree import ARRAY, OBJECT, Reader

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.core.payload import Payload

# The size of a piece, and of the largest one if elements are long.
PIECE_BYTES, MOST_PIECE_BYTES = 1 << 16, 4 << 20
# How much of the beginning is read to find the main array.
HEAD_BYTES, MOST_HEAD_BYTES = 1 << 13, 1 << 19
GROWTH = 4
# How many places are tried as the end of a piece before more is read.
MOST_TRIES = 4
# Below this depth no main array is looked for.
DEEPEST = 8
# Elements of the main array that must be complete to tell what is between two of them.
LEAST_ELEMENTS = 2
# A value in front of a piece, so that the piece can begin with a comma.
OPENING, FIRST = frozenset(b"{["), itemgetter(0)
STAND_IN = b'""'


class Indexed(Record):
    """What the index says about all of a payload; the seek points are in the payload."""

    # None if the document has no array at its top, or more than one.
    total_count: int | None = None


class Level:
    """A container that is open at the end of what was read."""

    def __init__(self, kind: bytes, begin: int, start: int, index: int) -> None:
        self.kind = kind
        self.begin = begin
        self.start = start
        self.index = index
        # The number of children that have begun, and how many of them are arrays.
        self.count = 0
        self.arrays = 0
        # The number of children that are complete, and where the last of them ends.
        self.complete = 0
        self.last_end = 0


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
        self._points: list[tuple[int, int]] = []
        # The containers around the elements of the main array, the innermost last.
        self._path: Sequence[Level] = ()
        # Texts that are between two elements, each with the position in it where the first of them ends.
        self._seams: Sequence[tuple[bytes, int]] = ()
        self._count = 0

    def build(self) -> Indexed:
        """Check and count all of it, and give the payload its seek points; `Refused` if that fails."""
        place = self._enter()
        piece_bytes = self._piece_bytes
        while self._payload.size - place > piece_bytes:
            piece = self._payload.read(place, place + piece_bytes)
            end, count = self._end_of_piece(piece)
            if not end:
                piece_bytes *= GROWTH
                if piece_bytes > max(MOST_PIECE_BYTES, self._piece_bytes):
                    raise Refused(f"no element ends after byte {place}")
                continue
            place, piece_bytes = place + end, self._piece_bytes
            self._count += count
            self._points.append((place, self._count))
        total = self._finish(self._payload.read(place, self._payload.size))
        points = ShapeSeekPoints(self._payload.seek_points, "json", PayloadBytes(self._payload))
        for place, count in self._points:
            points.add(place, list(self._numbers(count)))
        return Indexed(total)

    def _enter(self) -> int:
        """Find the main array. Check what is before it and its first elements; return where those end."""
        head_bytes = min(HEAD_BYTES, self._piece_bytes)
        while head_bytes <= MOST_HEAD_BYTES:
            head = self._payload.read(self._begin, min(self._begin + head_bytes, self._payload.size))
            head_bytes *= GROWTH
            path = main_path(head)
            if not path or not is_countable(path):
                continue
            main = path[-1]
            check_document(head[: main.last_end] + closing(path))
            self._path, self._count = path, main.complete
            self._seams = list(seams(head, main))
            return self._begin + main.last_end
        raise Refused("there is no long array")

    def _end_of_piece(self, piece: bytes) -> tuple[int, int]:
        """Return where the last element in a piece ends, and how many there are; (0, 0) if none is found."""
        for seam, inside in self._seams:
            stop = len(piece)
            for _ in range(MOST_TRIES):
                found = piece.rfind(seam, 0, stop)
                if found + inside <= 0:
                    break
                try:
                    count = count_elements(b"[" + STAND_IN + piece[: found + inside] + b"]")
                except Refused:
                    stop = found + len(seam) - 1
                else:
                    return found + inside, count - 1
        return 0, 0

    def _finish(self, rest: bytes) -> int | None:
        """Check what follows the last piece. Return the number of records in the document."""
        text = opening(self._path) + STAND_IN + rest
        if len(self._path) == 1:
            return self._count + count_elements(text) - 1
        check_document(text)
        reader = Reader(text, lines=False)
        reader.read_top()
        first, *others = reader.root.children
        arrays = [node for node in others if node.kind == ARRAY]
        if len(arrays) + self._path[0].arrays != 1:
            return None
        if first.kind == ARRAY:
            return self._count + first.count - 1
        if arrays:
            return arrays[0].count
        raise Refused("the records are before the longest array")

    def _numbers(self, count: int) -> Iterator[int]:
        """Yield the state of a seek point (see `tree.Reader`): `count` elements are before it."""
        for level in self._path:
            yield from (self._begin + level.begin, self._begin + level.start, level.index)
            yield count if level is self._path[-1] else level.count


def main_path(head: bytes) -> Sequence[Level]:
    """Return the containers down to the one whose children take most of a document that begins like this."""
    levels: list[Level] = []
    complete = BEFORE_CUT_STRING.match(head)
    head = complete[0] if complete else b""
    for event, key, start, end in walk(head, 0):
        if event == CLOSED:
            levels.pop()
            if not levels:
                return ()
            levels[-1].complete, levels[-1].last_end = levels[-1].count, end
            continue
        kind = head[start:end] if event == OPENED else b""
        if levels:
            parent = levels[-1]
            parent.count += 1
            parent.arrays += kind == ARRAY
        if kind:
            begin = key[0] if key else start
            levels.append(Level(kind, begin, start, levels[-1].count - 1 if levels else 0))
        elif not levels:
            return ()
        elif end < len(head):
            # A number at the end of the head may continue.
            levels[-1].complete, levels[-1].last_end = levels[-1].count, end
    depth = 1
    while depth < min(len(levels), DEEPEST) and 2 * levels[depth].start < len(head):
        depth += 1
    return levels[:depth]


def is_countable(path: Sequence[Level]) -> bool:
    """Return whether a path leads through objects to an array of which some elements are known."""
    *outer, main = path
    return (
        main.kind == ARRAY
        and main.complete >= LEAST_ELEMENTS
        and all(level.kind == OBJECT for level in outer)
    )


def seams(head: bytes, main: Level) -> Iterator[tuple[bytes, int]]:
    """Yield what is between two elements of the main array: the longest text first, then a shorter one."""
    end = main.last_end
    separator = BLANKS.match(head, end)
    comma = separator.end() if separator else end
    blank = BLANKS.match(head, comma + 1)
    start = blank.end() if blank else comma + 1
    between, sign = head[end:start], head[start : start + 1]
    if head[comma : comma + 1] != b"," or not sign:
        # The head ends here. The comma is all that is known.
        yield b",", 0
        return
    closer = head[end - 1 : end] if head[end - 1 : end] in (b"]", b"}", b'"') else b""
    if sign == OBJECT:
        inside = BLANKS.match(head, start + 1)
        key = QUOTED.match(head, inside.end() if inside else start + 1)
        if key:
            yield closer + head[end : key.end()], len(closer)
    if sign in (ARRAY, OBJECT, b'"'):
        yield closer + between + sign, len(closer)
    else:
        yield between, 0
    yield b",", 0


def opening(path: Sequence[Level]) -> bytes:
    """Return the signs that open these containers, each in the one before."""
    return b"".join(ARRAY if level.kind == ARRAY else b'{"":' for level in path)


def closing(path: Sequence[Level]) -> bytes:
    """Return the signs that close these containers."""
    return b"".join(CLOSERS[level.kind] for level in reversed(path))


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
    try:
        return DocumentIndex(payload, begin, piece_bytes).build()
    except Refused:
        return check_whole(payload, begin)


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
