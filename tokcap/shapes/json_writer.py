"""Write chosen JSON values with the containers around them, and marks where values are left out."""

from __future__ import annotations

from tokcap.core.cut import Mark, Values
from tokcap.core.mark import mark_element, mark_member
from tokcap.lean.plainjson import quoted
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes.json_text.scanner import CLOSERS, compact, string_text
from tokcap.shapes.json_text.tree import ARRAY, BARE, LINES, OBJECT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokcap.core.cut import ValuesStyle
    from tokcap.shapes.json_text.scanner import View
    from tokcap.shapes.json_text.tree import Node

STYLES: dict[bytes, ValuesStyle] = {ARRAY: "array", OBJECT: "object", LINES: "lines", BARE: "bare"}


class Unit(Record):
    """A value that is shown whole or, if it is `opaque`, as the mark."""

    node: Node
    opaque: bool = False


class Hidden(Record):
    """Values that are left out of a container, and the number of children left out, if values follow."""

    container: Node
    children: int | None = None


def written(
    data: View, root: Node, sentinel: str, pieces: Iterable[Unit | Hidden], source: bytes = b""
) -> Values:
    """Return units with the containers around them, and a mark for each hidden part."""
    writer = Writer(root, sentinel)
    is_cut = False
    for piece in pieces:
        if isinstance(piece, Unit):
            node = piece.node
            is_cut = is_cut or piece.opaque
            text = quoted(sentinel) if piece.opaque else compact(data[node.start : node.end])
            writer.add(node.parent, node.key, text)
        else:
            is_cut = True
            if sentinel:
                writer.mark(piece.container, piece.children)
    style, newline = STYLES[root.kind], data[-1:] == b"\n"
    return Values(style, writer.finish(), newline, source, is_cut, is_marked=is_cut and bool(sentinel))


class Writer:
    """Composes values into the children of the root; opens and closes containers as needed."""

    def __init__(self, root: Node, sentinel: str) -> None:
        self._open = [root]
        self._filled = [False]
        self._keys: list[list[bytes]] = [[]]
        self._sentinel = sentinel
        self._items: list[bytes | Mark] = []
        self._item: list[bytes] = []

    def add(self, container: Node | None, key: bytes | None, text: bytes) -> None:
        """Add a value to a container."""
        assert container is not None
        self._open_up_to(container)
        self._begin(key)
        self._item.append(text)
        self._end_item()

    def mark(self, container: Node, hidden: int | None) -> None:
        """Add a mark to a container."""
        self._open_up_to(container)
        in_object = container.kind == OBJECT
        mark = Mark(self._free_key() if in_object else self._sentinel, hidden=hidden)
        if in_object:
            # A second mark in this object needs another key.
            self._keys[-1].append(quoted(mark.text))
        if len(self._open) == 1:
            self._items.append(mark)
            return
        self._begin(None)
        self._item.append(mark_member(mark) if in_object else mark_element(mark))

    def finish(self) -> tuple[bytes | Mark, ...]:
        """Close all containers. Return the children of the root."""
        self._open_up_to(self._open[0])
        return tuple(self._items)

    def _open_up_to(self, container: Node) -> None:
        """Close the containers that do not hold `container`, open those that lead to it."""
        to_open = []
        node = container
        while node.depth >= len(self._open) or self._open[node.depth] is not node:
            to_open.append(node)
            assert node.parent is not None
            node = node.parent
        while self._open[-1] is not node:
            self._item.append(CLOSERS[self._open.pop().kind])
            self._filled.pop()
            self._keys.pop()
            self._end_item()
        for opened in reversed(to_open):
            self._begin(opened.key)
            self._item.append(opened.kind)
            self._open.append(opened)
            self._filled.append(False)
            self._keys.append([])

    def _begin(self, key: bytes | None) -> None:
        if len(self._open) > 1 and self._filled[-1]:
            self._item.append(b",")
        self._filled[-1] = True
        if key is not None:
            self._item += (key, b":")
            self._keys[-1].append(key)

    def _end_item(self) -> None:
        if len(self._open) == 1:
            self._items.append(b"".join(self._item))
            self._item = []

    def _free_key(self) -> str:
        """Return the sentinel, with underscores added until no key shown in the object is equal to it."""
        key = self._sentinel
        taken = {string_text(raw) for raw in self._keys[-1]}
        while key in taken:
            key += "_"
        return key


def common_container(one: Node, other: Node) -> Node:
    """Return the innermost container that holds both values."""
    left, right = one.parent, other.parent
    assert left is not None
    assert right is not None
    while left is not right:
        if left.depth >= right.depth:
            assert left.parent is not None
            left = left.parent
        else:
            assert right.parent is not None
            right = right.parent
    return left


def hidden_children(before: Node | None, container: Node, after: Node | None) -> int | None:
    """Return how many children of a container are hidden between two values; None if no value follows."""
    if after is None:
        return None
    first = child_towards(after, container).index
    # 0 means that both values are in neighbours that are shown in part: what is hidden is inside those.
    return first - (child_towards(before, container).index + 1 if before else 0) or None


def child_towards(node: Node, container: Node) -> Node:
    """Return the child of the container that is the node or holds it."""
    while node.parent is not container:
        assert node.parent is not None
        node = node.parent
    return node
