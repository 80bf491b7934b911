"""The part of a JSON payload around a window: which values lie there, inside which containers.

Source text and a place in; nodes out. Only a stretch of the source is read; what lies before it is
passed over for the containers that are open, what lies behind it is not looked at.
"""

from __future__ import annotations

from tokcap.core.seek_points import STRIDE_BYTES
from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes.jsontext import BYTE_ORDER_MARK, LEXEME, pointer_step
from tokcap.shapes.passing import (
    BETWEEN_VALUES,
    CLOSER,
    COLON,
    CONTAINER,
    INSIDE_CONTAINER,
    KEY_TEXT,
    OPENER,
    REST,
    RUN,
    SCALAR_OR_OPENER,
    SEPARATORS,
    end_of_known_value,
    scalars_in,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.core.seek_points import Trail
    from tokcap.shapes.jsontext import View

ARRAY, OBJECT, LINES, BARE = b"[", b"{", b"", b"."

# Deeper inside there are no landmarks: each holds all containers that are open, and would be too long.
DEEPEST_LANDMARK = 200
NUMBERS_PER_LEVEL = 4


class Node:
    """A value of the source: a scalar, or a container as far as it was read."""

    __slots__ = ("begin", "children", "count", "depth", "end", "index", "key", "kind", "parent", "start")

    def __init__(self, parent: Node | None, kind: bytes, key: bytes | None, begin: int, start: int) -> None:
        self.parent = parent
        # `[`, `{`, or empty for a scalar.
        self.kind = kind
        self.key = key
        # Where it begins with its key, where without; where it ends, or -1 if that was not read.
        self.begin = begin
        self.start = start
        self.end = -1
        # Its place among its siblings in the source; how many children it was seen to have.
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
        """Whether it is, at this moment, the last child that its parent keeps; the root always is."""
        return self.parent is None or self.parent.children[-1:] == [self]

    def pointer(self) -> str:
        """Its JSON pointer in the source; the root's children are the first step if it holds many."""
        steps: list[str] = []
        node: Node | None = self
        while node is not None and node.parent is not None and node.parent.kind != BARE:
            steps.append(pointer_step(node.key) if node.key is not None else str(node.index))
            node = node.parent
        return "".join("/" + step for step in reversed(steps))

    def leaves(self) -> Iterator[Node]:
        """The scalars and empty containers inside it, as far as they are kept; or it is one itself."""
        pending = [self]
        while pending:
            node = pending.pop()
            if not node.is_container or (node.end >= 0 and not node.count):
                yield node
            pending += reversed(node.children)


class Reader:
    """Walks over a valid payload, with the containers that are open."""

    def __init__(self, data: View, *, lines: bool, trail: Trail | None = None) -> None:
        self._data = data
        self._trail = trail
        begin = len(BYTE_ORDER_MARK) if data[: len(BYTE_ORDER_MARK)] == BYTE_ORDER_MARK else 0
        self.root = Node(None, LINES if lines else BARE, None, begin, begin)
        self._position = begin
        self.complete = False
        if not lines:
            self._enter_document()
        self._open = self.root

    def _enter_document(self) -> None:
        """The only value of a document, if it is a container, is the root."""
        start = self._next_sign()
        opener = self._data[start : start + 1]
        if opener in (ARRAY, OBJECT):
            self.root = Node(None, opener, None, start, start)
            self._position = start + 1

    def pass_over(self, byte: int) -> None:
        """Go on to the first value that begins at `byte` or behind it, and forget those before.

        The containers around it stay, each as the last child of the one around it.
        """
        while not self.complete:
            self._take_short_cut(byte)
            border = (self._position // STRIDE_BYTES + 1) * STRIDE_BYTES
            self._pass(min(border, byte))
            if border >= byte:
                break
            self._leave_landmark()
        for node in self._open_containers():
            if not node.is_kept and node.parent is not None:
                node.parent.children.append(node)

    def _open_containers(self) -> Sequence[Node]:
        """From the root to the innermost."""
        path = []
        node: Node | None = self._open
        while node is not None:
            path.append(node)
            node = node.parent
        return path[::-1]

    def _pass(self, stop: int) -> None:
        """Pass over the values that begin before `stop`, and over what closes before the next one."""
        while not self.complete:
            self._glance_over(stop)
            place = self._next_sign()
            self._position = place
            if place == len(self._data):
                self._finish()
            elif self._data[place] in b"]}":
                self._close(place + 1)
            elif place >= stop:
                return
            else:
                # What is cut by `stop`, or stands alone: the patterns have left it.
                found = SCALAR_OR_OPENER.match(self._data, place)
                assert found
                if found.lastindex:
                    self._enter(place, found.end() - 1)
                else:
                    self._open.count += 1
                    self._position = found.end()

    def _glance_over(self, stop: int) -> None:
        """Pass over what certainly ends before `stop`, with few looks at it."""
        data = self._data
        while self._position < stop:
            here = self._open
            between = here.kind == LINES
            pattern = BETWEEN_VALUES if between else INSIDE_CONTAINER
            for found in pattern.finditer(data, self._position, stop):
                kind = found.lastindex
                if kind == CONTAINER:
                    here.count += 1
                    continue
                if kind == RUN:
                    here.count += scalars_in(data, *found.span(RUN), separated=not between)
                    continue
                if kind == OPENER:
                    self._enter(found.start(OPENER), found.end() - 1)
                elif kind == CLOSER:
                    self._close(found.end())
                else:
                    self._position = found.start(REST)
                    return
                here = self._open
                # The top of a sequence has a pattern of its own.
                if between or here.kind == LINES:
                    break

    def _next_sign(self) -> int:
        """Where the next sign stands that is more than a separator; the end if there is none."""
        found = SEPARATORS.match(self._data, self._position)
        assert found
        return found.end()

    def _enter(self, begin: int, start: int) -> None:
        """A container opens at `start`, its key, if it has one, at `begin`."""
        key = KEY_TEXT.match(self._data, begin) if begin < start else None
        kind = self._data[start : start + 1]
        self._open = Node(self._open, kind, key[0] if key else None, begin, start)
        self._position = start + 1

    def _close(self, end: int) -> None:
        self._open.end = end
        # Behind a document's own end there is nothing, but blanks.
        self._open = self._open.parent or self._open
        self._position = end

    def _finish(self) -> None:
        self.complete = True
        self.root.end = self._position = len(self._data)

    def _leave_landmark(self) -> None:
        if self._trail is not None and not self.complete and self._open.depth <= DEEPEST_LANDMARK:
            levels = [(node.begin, node.start, node.index, node.count) for node in self._open_containers()]
            self._trail.leave(self._position, [number for level in levels for number in level])

    def _take_short_cut(self, byte: int) -> None:
        """Go on from the last landmark before `byte`, if it lies ahead."""
        found = self._trail.nearest(byte) if self._trail is not None else None
        if found is None or found[0] <= self._position:
            return
        place, numbers = found
        levels = list(zip(*[iter(numbers)] * NUMBERS_PER_LEVEL, strict=True))
        path = [node for node in self._open_containers() if node.is_kept]
        # One that is kept, and has ended at the landmark, is passed over for the sake of its end.
        if [node.start for node in path] != [start for _, start, _, _ in levels[: len(path)]]:
            return
        for begin, start, index, _ in levels[len(path) :]:
            self._open = path[-1]
            self._enter(begin, start)
            self._open.index = index
            path.append(self._open)
        for node, (_, _, _, count) in zip(path, levels, strict=True):
            node.count = count
        self._open = path[-1]
        self._position = place

    def read_until(self, byte: int) -> None:
        """Keep the values that begin before `byte`, as children of the containers they are in."""
        data = self._data
        here = self._open
        key: tuple[int, int] | None = None
        for lexeme in LEXEME.finditer(data, self._position):
            start, end = lexeme.span()
            sign = data[start]
            if sign == 44 or sign == 58:  # , and :
                continue
            if sign == 93 or sign == 125:  # ] and }
                here.end = end
                here = here.parent or here
                continue
            if key is None and start >= byte:
                self._position = start
                break
            if key is None and here.kind == OBJECT:
                key = start, end
                continue
            kind = data[start : start + 1] if sign == 91 or sign == 123 else b""
            begin = key[0] if key else start
            node = Node(here, kind, data[key[0] : key[1]] if key else None, begin, start)
            key = None
            here.children.append(node)
            if kind:
                here = node
            else:
                node.end = end
        else:
            self._finish()
        self._open = here

    def read_top(self) -> None:
        """Keep the root's own children, and of an object's arrays how many elements they have."""
        data, root = self._data, self.root
        while not self.complete:
            begin = start = self._position = self._next_sign()
            if begin == len(data):
                self._finish()
                continue
            if data[begin] in b"]}":
                self._close(begin + 1)
                continue
            key = KEY_TEXT.match(data, begin) if root.kind == OBJECT else None
            if key:
                colon = COLON.match(data, key.end())
                assert colon
                start = colon.end()
            kind = data[start : start + 1]
            node = Node(root, kind if kind in (ARRAY, OBJECT) else b"", key[0] if key else None, begin, start)
            root.children.append(node)
            node.end = self._position = end_of_known_value(data, start)
            if node.kind == ARRAY and root.kind == OBJECT:
                self._open, self._position = node, start + 1
                self._pass(node.end)

    @property
    def next_begin(self) -> int:
        """Where the first value begins that was not read; the payload's end if there is none."""
        return self._position

    @property
    def first_read(self) -> Node:
        """The first value that was read behind what was passed over."""
        node = self.root
        while node.children:
            node = node.children[0]
        return node
