"""The index of a JSON payload: whether it is valid, the number of its records, and pieces to read it in.

The payload is read once, in pieces, and checked by compiled code. A piece ends where a child of the main
container seems to end. That is proven: the text between two places is valid in brackets of its own only if
both places are between children of the same container. The memory does not depend on the number of values.
"""

from __future__ import annotations

import re
from operator import itemgetter

from tokcap.core.seek_points import ShapeSeekPoints
from tokcap.shapes.json_compiled import (
    Refused,
    check_document,
    checked_elements,
    checked_lines,
    checked_members,
    last_members,
)
from tokcap.shapes.json_parts import objects_of
from tokcap.shapes.json_reader import ARRAY, NUMBERS_PER_LEVEL, OBJECT, Reader
from tokcap.shapes.json_scanner import (
    BLANKS,
    BYTE_ORDER_MARK,
    CLOSED,
    CLOSERS,
    OPENED,
    QUOTED,
    STRING_TEXT,
    end_of_value,
    start_of_text,
    walk,
)
from tokcap.startup.patterns import DOTALL, later
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.core.payload import Payload
    from tokcap.shapes.json_parts import Objects, ScannedParts


# Everything up to a string whose end is missing.
BEFORE_CUT_STRING = later(rb'(?:[^"]++|%s)*+' % STRING_TEXT, DOTALL)
# Below this depth no main container is looked for.
DEEPEST = 8
# Children of the main container that must be complete to tell what is between two of them.
LEAST_CHILDREN = 2
# What closes the last child, with the blanks before it: that tells one depth from another.
CLOSING_RUN = re.compile(rb"[ \t\r\n\]}]{0,64}\Z")


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


def is_countable(path: Sequence[Level], kind: bytes) -> bool:
    """Return whether a path leads through objects to a container of a kind, and some children are known."""
    *outer, main = path
    return (
        main.kind == kind and main.complete >= LEAST_CHILDREN and all(level.kind == OBJECT for level in outer)
    )


def seams(head: bytes, main: Level) -> Iterator[tuple[bytes, int]]:
    """Yield what is between two children of the main container: the longest text first, then shorter ones.

    Each comes with the position in it where the first of both ends.
    """
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
    if main.kind == OBJECT:
        run = CLOSING_RUN.search(head, main.start + 1, end)
        closers = run[0] if run else b""
        yield closers + between + sign, len(closers)
    if sign in (ARRAY, OBJECT, b'"'):
        yield closer + between + sign, len(closer)
    else:
        yield between, 0
    yield b",", 0


def opening(path: Sequence[Level]) -> bytes:
    """Return what opens these containers, each in the one before. A child of the last one can follow."""
    return b"".join(ARRAY if level.kind == ARRAY else b'{"":' for level in path)


def closing(path: Sequence[Level]) -> bytes:
    """Return the signs that close these containers."""
    return b"".join(CLOSERS[level.kind] for level in reversed(path))


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
# If more follows the last seek point, reading in pieces saves nothing.
MOST_AFTER_BYTES = 8 << 20
WHITE_SPACE = b" \t\r\n"


def index_document(payload: Payload, begin: int, piece_bytes: int = PIECE_BYTES) -> int | None:
    """Check a document, give the payload its seek points, and return the number of its records.

    That is the length of an array at its top, or of the only array in an object at its top; None if there is
    no such array. `Refused` if the parser does not accept the document.
    """
    accepted = (0, b"")
    tried: set[tuple[int, ...]] = set()
    for head, path, kind in candidates(payload, begin, min(HEAD_BYTES, piece_bytes)):
        starts = tuple(level.start for level in path)
        if not path or starts in tried or not is_countable(path, kind):
            continue
        tried.add(starts)
        checked = CheckedPieces(payload, begin, piece_bytes, path)
        try:
            total = checked.check(head)
        except Refused:
            accepted = max(accepted, checked.accepted)
            continue
        points = ShapeSeekPoints(payload.seek_points, "json", payload.view())
        for place, count in checked.ends:
            points.add(place, list(checked.numbers(count)))
        return total
    try:
        return check_whole(payload, begin)
    except Refused as refused:
        refused.accepted = accepted if accepted[0] else None
        raise


def candidates(
    payload: Payload, begin: int, head_bytes: int
) -> Iterator[tuple[bytes, Sequence[Level], bytes]]:
    """Yield beginnings of a document, the main container that each suggests, and its kind."""
    heads = []
    # Records are in an array more often than in an object.
    while head_bytes <= MOST_HEAD_BYTES:
        head = payload.read(begin, min(begin + head_bytes, payload.size))
        heads.append((head, main_path(head)))
        yield *heads[-1], ARRAY
        head_bytes *= GROWTH
    # A short head may end in the first of many members.
    for head, path in reversed(heads):
        yield head, path, OBJECT


class CheckedPieces:
    """Divides a document into pieces of its main container, and checks each."""

    def __init__(self, payload: Payload, begin: int, piece_bytes: int, path: Sequence[Level]) -> None:
        self._payload = payload
        self._begin = begin
        self._piece_bytes = piece_bytes
        # The containers around the children of the main container, which is the last one.
        self._path = path
        self._opener, self._closer = opening(path[-1:]) + STAND_IN, closing(path[-1:])
        # Texts that are between two children, each with the position in it where the first of them ends.
        self._seams: Sequence[tuple[bytes, int]] = ()
        # Where each piece ends, and how many children are before that.
        self.ends: list[tuple[int, int]] = []
        self._count = path[-1].complete
        # How many members of an object at the top are arrays, and how long the last one is, if that is known.
        self._arrays = path[0].arrays
        self._array_length: int | None = None

    @property
    def accepted(self) -> tuple[int, bytes]:
        """See `Refused`."""
        place = self.ends[-1][0] if self.ends else 0
        return place, b"".join(level.kind for level in self._path)

    def check(self, head: bytes) -> int | None:
        """Check all pieces and what is around them. Return the number of records in the document."""
        main = self._path[-1]
        check_document(head[: main.last_end] + closing(self._path))
        self._seams = list(seams(head, main))
        place, piece_bytes = self._begin + main.last_end, self._piece_bytes
        self.ends.append((place, self._count))
        while self._payload.size - place > piece_bytes:
            end, count = self._end_of_piece(self._payload.read(place, place + piece_bytes))
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
            return len(checked_elements(text))
        members = checked_members(text)
        if len(self._path) == 1:
            for value in members:
                if value[:1] == ARRAY:
                    self._arrays, self._array_length = self._arrays + 1, len(checked_elements(value))
        return len(members)

    def _finish(self, rest: bytes) -> int | None:
        """Check what follows the last piece. Return the number of records in the document."""
        text = opening(self._path) + STAND_IN + rest
        if self._path[0].kind == ARRAY:
            return self._count + len(checked_elements(text)) - 1
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
        """Yield the state of a seek point (see `json_reader.Reader`): `count` children are before it."""
        for level in self._path:
            yield from (self._begin + level.begin, self._begin + level.start, level.index)
            yield count if level is self._path[-1] else level.count


def index_lines(payload: Payload, begin: int, piece_bytes: int = PIECE_BYTES) -> int:
    """Index a sequence of objects and arrays whose values end with a line, and return their number.

    `begin` is where the text begins, after a byte order mark. `Refused` if it is something else.
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
        values = checked_lines(piece[:end])
        # Numbers and words must be apart from each other, and the parser does not ask for that.
        if not OPENING.issuperset(map(FIRST, values)):
            raise Refused("there are scalars")
        count, place, size = count + len(values), place + end, piece_bytes
        found.append((place, count))
    points = ShapeSeekPoints(payload.seek_points, "jsonl", payload.view())
    for place, number in found[:-1]:
        points.add(place, [begin, begin, 0, number])
    return count


def check_whole(payload: Payload, begin: int) -> int | None:
    """Check a document at once, and count its records. Seek points are added later, by a reader."""
    payload.check(0, payload.size)
    source = memoryview(payload.view())[begin:]
    if source[:1] == ARRAY:
        return len(checked_elements(source))
    check_document(source)
    if source[:1] != OBJECT:
        return None
    arrays = [value for value in last_members(source).values() if value[:1] == ARRAY]
    return len(checked_elements(arrays[0])) if len(arrays) == 1 else None


class MainContainer(Record):
    """The container that holds most of a payload, in pieces, and the text around it."""

    payload: Payload
    # `[` or `{`; nothing for JSON Lines, which have nothing around them.
    kind: bytes
    # The source of the keys that lead to it.
    keys: tuple[bytes, ...]
    # Where its content begins, where other pieces of it begin, and where it ends.
    borders: Sequence[int]
    # The document up to the opening bracket and from the closing one on, both included.
    before: bytes = b""
    after: bytes = b""

    @property
    def stand_in(self) -> bytes:
        """A string that is nowhere around it."""
        text = b'"..."'
        while text in self.before or text in self.after:
            text = text[:-1] + b'."'
        return text

    @property
    def around(self) -> bytes:
        """The document with `stand_in` in place of it."""
        return self.before[:-1] + self.stand_in + self.after[1:]

    def read_end(self, most_bytes: int) -> int:
        """Return where the last of these pieces ends; the payload's end if it is the last one of all."""
        end = max(border for border in self.borders if border <= max(most_bytes, self.borders[1]))
        return self.payload.size if end == self.borders[-1] else end

    def pieces(self, most_bytes: int | None = None) -> Iterator[bytes]:
        """Yield some children at a time, separated as in the source; only those in about `most_bytes`."""
        for begin, end in zip(self.borders, self.borders[1:], strict=False):
            if most_bytes is not None and end > max(most_bytes, self.borders[1]):
                return
            text = self.payload.read(begin, end).strip(WHITE_SPACE)
            if self.kind:
                # A piece begins or ends at the comma, or next to it.
                text = text.removeprefix(b",").removesuffix(b",").strip(WHITE_SPACE)
            if text:
                yield text

    def values(self, piece: bytes, parts: ScannedParts) -> Sequence[bytes]:
        """Return the values in a piece of an array or of JSON Lines, without blanks."""
        return parts.elements([parts.compact(b"[%b]" % piece)])[0] if self.kind else parts.values(piece)

    def objects(self, piece: bytes, parts: ScannedParts) -> Objects | None:
        """Return the same as `values` by their members; None if one is no object."""
        if self.kind:
            return parts.objects_in(parts.compact(b"[%b]" % piece))
        return objects_of(parts.values(piece), parts)


def main_container(payload: Payload, shape: str) -> MainContainer | None:
    """Return the container that the index has found; None if there is no index, or it found none."""
    points = ShapeSeekPoints(payload.seek_points, shape, payload.view())
    found = [point for place in list(payload.seek_points.bytes) if (point := points.before(place))]
    # A reader may have added others. Those of the index all are in the container that is open in most.
    paths = [tuple(numbers[1::NUMBERS_PER_LEVEL]) for _, numbers in found]
    if not paths:
        return None
    path = min(set(paths), key=lambda path: (-paths.count(path), path))
    places = [place for (place, _), one in zip(found, paths, strict=True) if one == path]
    begins = found[paths.index(path)][1][0::NUMBERS_PER_LEVEL]
    if shape == "jsonl":
        begin = start_of_text(payload.read(0, len(BYTE_ORDER_MARK)))
        return MainContainer(payload, b"", (), [begin, *places, payload.size])
    start, last = path[-1], places[-1]
    if start + payload.size - last > MOST_AFTER_BYTES:
        return None
    kind = payload.read(start, start + 1)
    stand_in = kind + (STAND_IN if kind == ARRAY else b'"":' + STAND_IN)
    end = last + end_of_value(stand_in + payload.read(last, payload.size), 0) - len(stand_in) - 1
    before = payload.read(0, start + 1)
    keys = [QUOTED.match(before, begin) for begin in begins[1:]]
    return MainContainer(
        payload,
        kind,
        tuple(key[0] for key in keys if key),
        [start + 1, *places, end],
        before.removeprefix(BYTE_ORDER_MARK),
        payload.read(end, payload.size),
    )
