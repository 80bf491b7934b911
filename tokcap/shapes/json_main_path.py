"""Find the container that holds most of a document, given the beginning of the document."""

from __future__ import annotations

import re

from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes.json_text.patterns import BEFORE_CUT_STRING, BLANKS, QUOTED
from tokcap.shapes.json_text.scanner import CLOSED, CLOSERS, OPENED, walk
from tokcap.shapes.json_text.tree import ARRAY, OBJECT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
