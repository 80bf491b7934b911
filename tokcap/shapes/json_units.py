"""Choose the JSON values that are the units of a window: the largest ones that fit into a window alone.

A container that could not fit whole is divided into its children. A scalar that could not, or a container too
deep to be shown, becomes the mark.
"""

from __future__ import annotations

from tokcap.core.cut import Values
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes.json_text.scanner import CLOSERS, compact, without_trailing
from tokcap.shapes.json_text.tree import OBJECT
from tokcap.shapes.json_writer import STYLES, Hidden, Unit, Writer, written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.cut import Cost
    from tokcap.shapes.json_text.scanner import View
    from tokcap.shapes.json_text.tree import Node, Reader

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
