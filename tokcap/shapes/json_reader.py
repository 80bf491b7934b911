"""Read the part of a JSON payload around a window: its values, and the containers that they are in.

The reader takes valid source text and a position, and returns nodes. It reads only a stretch of the source
value by value. It passes over the text before that stretch and keeps only the containers that are open there;
it does not read what follows.
"""

from __future__ import annotations

from tokcap.core.seek_points import STRIDE_BYTES
from tokcap.shapes.json_scanner import (
    BLANK_TEXT,
    CLOSED,
    KEY_SEPARATOR,
    KEY_TEXT,
    ONE_MATCH_DEPTH,
    OPENED,
    QUOTED,
    SEPARATORS,
    STRING_TEXT,
    WORD_TEXT,
    container_text,
    end_of_value,
    printable,
    start_of_text,
    string_text,
    walk,
)
from tokcap.shapes.paths import as_step
from tokcap.startup.patterns import DOTALL, later
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tokcap.core.seek_points import ShapeSeekPoints
    from tokcap.shapes.json_scanner import View

# A child with its key: a container that is matched whole, the sign that opens another one, the sign that
# closes the container around it, or a scalar. A string before a colon is a key whose value is cut off.
CHILD = later(
    rb"[ \t\n\r,]*+(?:(%(k)s%(c)s)|(%(k)s[\[{])|([\]}])|(%(k)s(?:%(s)s|%(w)s)%(b)s(?=[^:])))"
    % {
        b"k": KEY_TEXT,
        b"c": container_text(ONE_MATCH_DEPTH),
        b"s": STRING_TEXT,
        b"w": WORD_TEXT,
        b"b": BLANK_TEXT,
    },
    DOTALL,
)
CONTAINER, OPENER, CLOSER = range(1, 4)
# A scalar, or the sign that opens a container (group 1); with its key.
SCALAR_OR_OPENER = later(KEY_TEXT + rb"(?:([\[{])|%s|%s)" % (STRING_TEXT, WORD_TEXT), DOTALL)

ARRAY, OBJECT, LINES, BARE = b"[", b"{", b"", b"."

# A seek point lists all containers that are open. Where more are open it would be too long.
DEEPEST_SEEK_POINT = 200
NUMBERS_PER_LEVEL = 4


class Node:
    """A value of the source: a scalar, or a container as far as it was read."""

    __slots__ = ("begin", "children", "count", "depth", "end", "index", "key", "kind", "parent", "start")

    def __init__(self, parent: Node | None, kind: bytes, key: bytes | None, begin: int, start: int) -> None:
        self.parent = parent
        # `[`, `{`, or empty for a scalar.
        self.kind = kind
        self.key = key
        # Where it begins with its key and without; where it ends, or -1 if that was not read.
        self.begin = begin
        self.start = start
        self.end = -1
        # Its index among its siblings in the source; the number of children seen so far.
        self.index = 0
        self.count = 0
        self.depth = 0
        self.children: list[Node] = []
        if parent is not None:
            self.index = parent.count
            self.depth = parent.depth + 1
            parent.count += 1

    @property
    def is_container(self) -> bool:
        return self.kind in (ARRAY, OBJECT)

    @property
    def is_kept(self) -> bool:
        """Whether it is the root, or the last child that its parent keeps at this moment."""
        return self.parent is None or self.parent.children[-1:] == [self]

    def pointer(self) -> str:
        """Return its JSON pointer in the source."""
        steps: list[str] = []
        node: Node | None = self
        while node is not None and node.parent is not None and node.parent.kind != BARE:
            steps.append(
                as_step(printable(string_text(node.key))) if node.key is not None else str(node.index)
            )
            node = node.parent
        return "".join("/" + step for step in reversed(steps))

    def leaves(self) -> Iterator[Node]:
        """Yield the scalars and empty containers inside it that are kept, or itself if it is one."""
        pending = [self]
        while pending:
            node = pending.pop()
            if not node.is_container or (node.end >= 0 and not node.count):
                yield node
            pending += reversed(node.children)


class Reader:
    """Walks over a valid payload and knows the containers that are open."""

    def __init__(
        self,
        data: View,
        *,
        lines: bool,
        seek_points: ShapeSeekPoints | None = None,
        check: Callable[[int, int], None] | None = None,
    ) -> None:
        """Begin at the first value. `check` is called for every range that was read."""
        self._data = data
        self._seek_points = seek_points
        self._check = check or (lambda start, stop: None)
        begin = start_of_text(data)
        self.root = Node(None, LINES if lines else BARE, None, begin, begin)
        self._position = begin
        self.complete = False
        if not lines:
            self._enter_document()
        # The first sign decides what the document is, also if it is not a container.
        self._check(0, min(self._position + 1, len(data)))
        self._open = self.root

    def _enter_document(self) -> None:
        """Make the only value of a document the root, if it is a container."""
        start = self._next_sign()
        opener = self._data[start : start + 1]
        if opener in (ARRAY, OBJECT):
            self.root = Node(None, opener, None, start, start)
            self._position = start + 1

    def pass_over(self, byte: int) -> None:
        """Go to the first value that begins at `byte` or later, and drop those before it.

        The containers around it are kept, each as the last child of the one around it.
        """
        while not self.complete:
            self._seek(byte)
            begin = self._position
            border = (self._position // STRIDE_BYTES + 1) * STRIDE_BYTES
            self._pass(min(border, byte))
            self._check(begin, self._position)
            if border >= byte:
                break
            self._add_seek_point()
        for node in self._open_containers():
            if not node.is_kept and node.parent is not None:
                node.parent.children.append(node)

    def _open_containers(self) -> Sequence[Node]:
        """Return them from the root to the innermost."""
        path = []
        node: Node | None = self._open
        while node is not None:
            path.append(node)
            node = node.parent
        return path[::-1]

    def _pass(self, stop: int) -> None:
        """Pass over the values that begin before `stop`, and over what closes before the next one."""
        while not self.complete:
            self._pass_quickly(stop)
            place = self._next_sign()
            self._position = place
            if place == len(self._data):
                self._finish()
            elif self._data[place] in b"]}":
                self._close(place + 1)
            elif place >= stop:
                return
            else:
                # The quick patterns leave values that `stop` cuts, and scalars at the end of the text.
                found = SCALAR_OR_OPENER.match(self._data, place)
                assert found
                if found.lastindex:
                    self._enter(place, found.end() - 1)
                else:
                    self._open.count += 1
                    self._position = found.end()

    def _pass_quickly(self, stop: int) -> None:
        """Pass over values that certainly end before `stop`."""
        here = self._open
        for found in CHILD.finditer(self._data, self._position, stop):
            kind = found.lastindex
            # A match may begin later than the one before it ended: at what `stop` cuts.
            if found.start() != self._position:
                return
            if kind == OPENER:
                start = found.end() - 1
                self._enter(found.start(OPENER), start)
                here = self._open
            elif kind == CLOSER:
                self._close(found.end())
                here = self._open
            else:
                here.count += 1
                self._position = found.end()

    def _next_sign(self) -> int:
        """Return the position of the next sign that is not a separator; the end if there is none."""
        found = SEPARATORS.match(self._data, self._position)
        assert found
        return found.end()

    def _enter(self, begin: int, start: int) -> None:
        """Enter the container that opens at `start`; its key, if it has one, begins at `begin`."""
        key = QUOTED.match(self._data, begin) if begin < start else None
        kind = self._data[start : start + 1]
        self._open = Node(self._open, kind, key[0] if key else None, begin, start)
        self._position = start + 1

    def _close(self, end: int) -> None:
        self._open.end = end
        # Only blanks follow the end of a document.
        self._open = self._open.parent or self._open
        self._position = end

    def _finish(self) -> None:
        self.complete = True
        self.root.end = self._position = len(self._data)

    def _add_seek_point(self) -> None:
        if self._seek_points is not None and not self.complete and self._open.depth <= DEEPEST_SEEK_POINT:
            levels = [(node.begin, node.start, node.index, node.count) for node in self._open_containers()]
            self._seek_points.add(self._position, [number for level in levels for number in level])

    def _seek(self, byte: int) -> None:
        """Jump to the last seek point before `byte`, if it is ahead."""
        found = self._seek_points.before(byte) if self._seek_points is not None else None
        if found is None or found[0] <= self._position:
            return
        place, numbers = found
        levels = list(zip(*[iter(numbers)] * NUMBERS_PER_LEVEL, strict=True))
        path = [node for node in self._open_containers() if node.is_kept]
        # A kept container that has ended before the seek point must be passed over to find its end.
        if [node.start for node in path] != [start for _, start, _, _ in levels[: len(path)]]:
            return
        for begin, start, index, _ in levels[len(path) :]:
            self._open = path[-1]
            self._check(begin, start + 1)
            self._enter(begin, start)
            self._open.index = index
            path.append(self._open)
        for node, (_, _, _, count) in zip(path, levels, strict=True):
            node.count = count
        self._open = path[-1]
        self._position = place

    def read_until(self, byte: int) -> None:
        """Keep the values that begin before `byte`, as children of the containers they are in."""
        data, first = self._data, self._position
        here = self._open
        around = b"".join(node.kind for node in self._open_containers() if node.is_container)
        for event, key, start, end in walk(data, self._position, around):
            if event == CLOSED:
                here.end = end
                here = here.parent or here
                continue
            begin = key[0] if key else start
            if begin >= byte:
                self._position = begin
                break
            kind = data[start:end] if event == OPENED else b""
            node = Node(here, kind, data[key[0] : key[1]] if key else None, begin, start)
            here.children.append(node)
            if kind:
                here = node
            else:
                node.end = end
        else:
            self._finish()
        self._check(first, self._position)
        self._open = here

    def read_top(self) -> None:
        """Keep the root's own children, and count the elements of an object's arrays."""
        data, root, first = self._data, self.root, self._position
        while not self.complete:
            begin = start = self._position = self._next_sign()
            if begin == len(data):
                self._finish()
                continue
            if data[begin] in b"]}":
                self._close(begin + 1)
                continue
            key = QUOTED.match(data, begin) if root.kind == OBJECT else None
            if key:
                colon = KEY_SEPARATOR.match(data, key.end())
                assert colon
                start = colon.end()
            kind = data[start : start + 1]
            node = Node(root, kind if kind in (ARRAY, OBJECT) else b"", key[0] if key else None, begin, start)
            root.children.append(node)
            node.end = self._position = end_of_value(data, start)
            if node.kind == ARRAY and root.kind == OBJECT:
                self._open, self._position = node, start + 1
                self._pass(node.end)
        self._check(first, self._position)

    @property
    def next_begin(self) -> int:
        """The position of the first value that was not read; the payload's end if there is none."""
        return self._position

    @property
    def first_read(self) -> Node:
        """The first value that was read after the part that was passed over."""
        node = self.root
        while node.children:
            node = node.children[0]
        return node
