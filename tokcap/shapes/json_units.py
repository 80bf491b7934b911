"""The units of a JSON window: the largest values that fit into a window alone; and how units are written.

A container that could not fit whole is divided into its children. A scalar that could not, or a container too
deep to be shown, becomes the mark. Units are written with the containers around them, and marks where values
are left out.
"""

from __future__ import annotations

from tokcap.core.cut import Mark, Values
from tokcap.core.mark import mark_element, mark_member
from tokcap.shapes.json_reader import ARRAY, BARE, LINES, OBJECT
from tokcap.shapes.json_scanner import CLOSERS, compact, string_text, without_trailing
from tokcap.startup.plainjson import quoted
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokcap.core.cut import Cost, ValuesStyle
    from tokcap.shapes.json_reader import Node, Reader
    from tokcap.shapes.json_scanner import View


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


# A value with more bytes per token of the limit is too large without a count. This may be more than the
# longest token has: white space between values is read and not shown.
MEASURED_BYTES = 128
# What can follow the last value of a document.
CLOSING = b" \t\r\n]}"
# Bytes that a mark adds to its sentinel at most.
MARK_ROOM = 12
# `{}` or `[]`.
EMPTY_BYTES = 2
# Where a text is divided, its parts can have a few tokens less or more.
SEAM_TOKENS = 8


class Measured(Record):
    """A stretch of the source, and how many tokens it has without insignificant white space."""

    start: int
    end: int
    tokens: int


class UnitFinder:
    """Finds the units among the values that a reader has read. Made once for each reader."""

    def __init__(
        self,
        data: View,
        reader: Reader,
        limit: int | None,
        longest_token_bytes: int,
        sentinel: str,
        cost: Cost,
    ) -> None:
        self._data = data
        self._reader = reader
        self._root = reader.root
        self._limit = limit
        self._most_bytes = (limit or 0) * max(longest_token_bytes, MEASURED_BYTES)
        self._sentinel = sentinel
        self._cost = cost
        # Only closing brackets and blanks follow.
        self._last_end = without_trailing(data, CLOSING)
        # The last container that was counted although its end is unread: its start, and its tokens so far.
        self._unfinished_start = self._unfinished_tokens = 0
        self._too_large: Measured | None = None
        # Most tokens that the containers around a child cost; those that were counted; the last one too deep
        # to show.
        self._around: dict[Node, int] = {}
        self._counted: set[Node] = set()
        self._too_deep: Node | None = None

    def find(self, first_byte: int) -> Sequence[Unit]:
        """Return the units that begin at `first_byte` or later."""
        units: list[Unit] = []
        pending = [iter(self._root.children)]
        while pending:
            node = next(pending[-1], None)
            if node is None:
                pending.pop()
            elif node.begin < first_byte:
                pending.append(iter(node.children))
            elif node.end < 0 and not self._surely_too_large(node):
                # It continues after what was read. Nothing comes after it here.
                break
            elif self._fits_alone(node):
                units.append(Unit(node))
            elif node.count:
                pending.append(iter(node.children))
            else:
                units.append(Unit(node, opaque=True))
        return units

    def _surely_too_large(self, node: Node) -> bool:
        """Whether the part of a container that was read is already more than any window holds."""
        assert self._limit is not None
        # The rest can join with this part, so a little more than the limit is required.
        enough = self._limit + self._limit // 8 + 8
        # Containers come outermost first. One that begins a few bytes later has at most that many tokens
        # less, so deep nesting needs few counts.
        if self._unfinished_tokens - (node.start - self._unfinished_start) > enough:
            return True
        part = self._data[node.start : self._reader.next_begin]
        if len(part) > self._most_bytes:
            return True
        self._unfinished_start = node.start
        self._unfinished_tokens = self._cost((Values("bare", (compact(part),)),))
        return self._unfinished_tokens > enough

    def _fits_alone(self, node: Node) -> bool:
        """Whether a value fits whole into a window that holds nothing else."""
        if self._limit is None:
            return True
        if node.end < 0:
            return False
        assert node.parent is not None
        # An empty container is written without the white space in it.
        is_empty = not node.count and node.kind in CLOSERS
        source_bytes = EMPTY_BYTES if is_empty else node.end - node.start
        size = source_bytes + len(node.key or b"") + MARK_ROOM + len(self._sentinel.encode())
        if size + self._most_around(node.parent) <= self._limit:
            return True
        if source_bytes > self._most_bytes or self._inside_too_large(node):
            return False
        # Counted once per container. After that most of its children need no count.
        around = self._count_around(node.parent)
        if around is None or around + size <= self._limit:
            return around is not None
        # A container without room for a mark after it is better shown in part, with a mark. What cannot be
        # divided is shown without.
        whole_only = node.end >= self._last_end or not node.count
        pieces = (Unit(node),) if whole_only else (Unit(node), Hidden(node.parent))
        tokens = self._cost((written(self._data, self._root, self._sentinel, pieces),))
        if tokens <= self._limit:
            return True
        if node.count:
            source = self._data[node.start : node.end]
            self._too_large = Measured(
                node.start, node.end, self._cost((Values("bare", (compact(source),)),))
            )
        return False

    def _inside_too_large(self, node: Node) -> bool:
        """Whether it is inside a value so large that it must be too large itself.

        It has at most as many tokens less as it has bytes less, so deep nesting needs few counts.
        """
        outer, limit = self._too_large, self._limit
        if limit is None or outer is None or node.start < outer.start or outer.end < node.end:
            return False
        less = (node.start - outer.start) + (outer.end - node.end)
        return outer.tokens - less > limit + SEAM_TOKENS

    def _most_around(self, container: Node) -> int:
        """Return the most tokens that the containers around a child can cost, without a count."""
        path = []
        node: Node | None = container
        while node is not None and node not in self._around:
            path.append(node)
            node = node.parent
        most = 2 if node is None else self._around[node]
        for inner in reversed(path):
            most += len(inner.key or b"") + 3
            self._around[inner] = most
        return most

    def _count_around(self, container: Node) -> int | None:
        """Count what `_most_around` estimates; None if the container is too deep to show any child."""
        assert self._limit is not None
        deep = self._too_deep
        if deep and deep.start <= container.start and (deep.end < 0 or container.start < deep.end):
            return None
        if container not in self._counted:
            self._counted.add(container)
            writer = Writer(self._root, self._sentinel)
            writer.add(container, b'""' if container.kind == OBJECT else None, b"0")
            tokens = self._cost((Values(STYLES[self._root.kind], writer.finish()),))
            self._around[container] = tokens + SEAM_TOKENS
            if tokens > self._limit + SEAM_TOKENS:
                self._too_deep = container
                return None
        return self._around[container]
