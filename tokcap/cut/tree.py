"""The part of a JSON payload around a window: which values lie there, inside which containers.

Source text and a place in; nodes out. Only a stretch of the source is read; what lies before it is
passed over for the containers that are open, what lies behind it is not looked at.
"""

from __future__ import annotations

from math import inf

from tokcap.jsontext import BYTE_ORDER_MARK, LEXEME, pointer_step
from tokcap.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ARRAY, OBJECT, LINES, BARE = b"[", b"{", b"", b"."


class Node:
    """A value of the source: a scalar, or a container as far as it was read."""

    __slots__ = (
        *("begin", "children", "count", "depth", "end", "index", "key", "kind"),
        *("last_begin", "parent", "start"),
    )

    def __init__(self, parent: Node | None, kind: bytes, key: bytes | None, begin: int, start: int) -> None:
        self.parent = parent
        # `[`, `{`, or empty for a scalar.
        self.kind = kind
        self.key = key
        # Where it begins with its key, where without; where it ends, or -1 if that was not read.
        self.begin = begin
        self.start = start
        self.end = -1
        # Where the last value inside it begins; its own beginning if there is none.
        self.last_begin = begin
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

    def pointer(self) -> str:
        """Its JSON pointer in the source; the root's children are the first step if it holds many."""
        steps: list[str] = []
        node: Node | None = self
        while node is not None and node.parent is not None and node.parent.kind != BARE:
            steps.append(pointer_step(node.key) if node.key is not None else str(node.index))
            node = node.parent
        return "".join("/" + step for step in reversed(steps))


class Reader:
    """Walks over the lexemes of a valid payload, with the containers that are open."""

    def __init__(self, data: bytes, *, lines: bool) -> None:
        self._data = data
        begin = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
        self._lexemes: Iterator[tuple[int, int]] = (match.span() for match in LEXEME.finditer(data, begin))
        self.root = Node(None, LINES if lines else BARE, None, begin, begin)
        self._open = self.root
        self._key: tuple[int, int] | None = None
        self._waiting: tuple[int, int] | None = None
        self.complete = False
        if not lines:
            self._enter_document()

    def _enter_document(self) -> None:
        """The only value of a document, if it is a container, is the root."""
        span = next(self._lexemes)
        opener = self._data[span[0] : span[0] + 1]
        if opener in (ARRAY, OBJECT):
            self.root = self._open = Node(None, opener, None, span[0], span[0])
        else:
            self._waiting = span

    def pass_over(self, byte: int) -> None:
        """Go on to the first value that begins at `byte` or behind it, and forget those before.

        The containers around it stay, each as the first child of the one around it.
        """
        self._read(keep=False, stop=byte)
        node = self._open
        while node.parent is not None:
            siblings = node.parent.children
            if not siblings or siblings[-1] is not node:
                siblings.append(node)
            node = node.parent

    def read_until(self, byte: int) -> None:
        """Keep the values that begin before `byte`, as children of the containers they are in."""
        self._read(keep=True, stop=byte)

    def read_top(self) -> None:
        """Keep the root's own children, and nothing of what is inside them."""
        self._read(keep=True, stop=len(self._data), deepest=0)

    def _read(self, *, keep: bool, stop: int, deepest: float = inf) -> None:
        data = self._data
        key = self._key
        here = self._open
        waiting = self._waiting
        self._waiting = None
        while True:
            span = waiting or next(self._lexemes, None)
            waiting = None
            if span is None:
                self.complete = True
                self.root.end = len(data)
                break
            start, end = span
            sign = data[start]
            if sign == 44 or sign == 58:  # , and :
                continue
            if sign == 93 or sign == 125:  # ] and }
                here.end = end
                parent = here.parent
                if parent is None:
                    # The document's own end.
                    continue
                parent.last_begin = max(parent.last_begin, here.last_begin)
                here = parent
                continue
            if key is None and here.kind == OBJECT:
                if start >= stop:
                    self._waiting = span
                    break
                key = span
                continue
            begin = key[0] if key else start
            if begin >= stop:
                self._waiting = span
                break
            kept = keep and here.depth <= deepest
            if not kept and sign != 91 and sign != 123:
                here.count += 1
                key = None
                continue
            kind = data[start : start + 1] if sign == 91 or sign == 123 else b""
            node = Node(here, kind, data[key[0] : key[1]] if key else None, begin, start)
            key = None
            if kept:
                here.children.append(node)
            if kind:
                here = node
            else:
                node.end = end
                here.last_begin = begin
        self._key = key
        self._open = here

    @property
    def next_begin(self) -> int:
        """Where the first value begins that was not read; the payload's end if there is none."""
        waiting = self._key or self._waiting
        return waiting[0] if waiting else len(self._data)

    @property
    def first_read(self) -> Node:
        """The first value that was read behind what was passed over."""
        node = self.root
        while node.children:
            node = node.children[0]
        return node
