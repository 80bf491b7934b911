"""The outline of JSON: one line for every object with its path, its members, and what they hold.

Elements of an array are merged into one, `/items/*`, so that a thousand records take one line. Values at the
same place are read together.
"""

from __future__ import annotations

from collections import Counter

from tokcap.core.payload import LONG_BYTES
from tokcap.shapes.json_parts import opened, values_of
from tokcap.shapes.json_scanner import printable, string_text
from tokcap.shapes.paths import as_step
from tokcap.shapes.value_summary import ValueSummary
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.core.payload import Payload
    from tokcap.shapes.json_index import MainContainer
    from tokcap.shapes.json_parts import Objects, ScannedParts

# Only this much of a payload is read, if it is read in pieces.
READ_BYTES = 4 << 20
# An object with more keys is a map: its values are merged, as the elements of an array are.
MOST_KEYS = 40
DEEPEST = 24
MOST_LINES, LINE_CHARACTERS = 30, 700
OBJECT, ARRAY = b"{["


class Place:
    """All values at one path."""

    __slots__ = ("arrays", "depth", "each", "keys", "lengths", "mapped", "objects", "scalars", "sizes")

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.objects = 0
        self.arrays = 0
        # The least and the greatest number of elements, and of members.
        self.lengths: tuple[int, int] | None = None
        self.sizes: tuple[int, int] | None = None
        self.keys: dict[str, Place] = {}
        # Whether its objects have more keys than `MOST_KEYS`: then their values are merged.
        self.mapped = False
        # What is in its arrays, and in such objects.
        self.each: Place | None = None
        self.scalars = ValueSummary()

    @property
    def count(self) -> int:
        return self.objects + self.arrays + self.scalars.count

    def member(self, key: str) -> Place:
        if self.mapped:
            return self.element()
        if key not in self.keys:
            if len(self.keys) == MOST_KEYS:
                self.become_map()
                return self.element()
            self.keys[key] = Place(self.depth + 1)
        return self.keys[key]

    def become_map(self) -> None:
        """Merge the values of all keys."""
        self.mapped = True
        places, self.keys = self.keys, {}
        for place in places.values():
            self.element().join(place)

    def element(self) -> Place:
        if self.each is None:
            self.each = Place(self.depth + 1)
        return self.each

    def join(self, other: Place) -> None:
        """Add the values of another place."""
        self.objects += other.objects
        self.arrays += other.arrays
        self.lengths = widest(self.lengths, other.lengths)
        self.sizes = widest(self.sizes, other.sizes)
        self.scalars.join(other.scalars)
        if other.mapped and not self.mapped:
            self.become_map()
        if other.each is not None:
            self.element().join(other.each)
        for key, place in other.keys.items():
            self.member(key).join(place)


def widest(one: tuple[int, int] | None, other: tuple[int, int] | None) -> tuple[int, int] | None:
    if one is None or other is None:
        return one or other
    return min(one[0], other[0]), max(one[1], other[1])


def outline_of(payload: Payload, *, lines: bool) -> tuple[Place, int]:
    """Return the values of a payload by their paths, and how many bytes were read for that.

    Values of JSON Lines count as the elements of one array.
    """
    parts, main = opened(payload, lines=lines)
    root = Place(0)
    if main is not None:
        return root, read_pieces(main, root, parts)
    if payload.size >= LONG_BYTES:
        raise ValueError("too long to be read at once")
    values = values_of(payload, parts, lines=lines)
    if lines:
        root.arrays, root.lengths = 1, (len(values), len(values))
    add(values, root.element() if lines else root, parts)
    return root, payload.size


def read_pieces(main: MainContainer, root: Place, parts: ScannedParts) -> int:
    """Add the values of a document that is read in pieces. Return how many bytes were read."""
    place, count = root, 0
    if main.keys:
        add([parts.compact(main.around)], root, parts)
        for key in main.keys:
            place = place.member(printable(string_text(key)))
        place.scalars.forget(main.stand_in.decode())
    sizes = place.sizes
    for piece in main.pieces(READ_BYTES):
        if main.kind == b"{":
            members = parts.objects([parts.compact(b"{%b}" % piece)])
            add_members(members, place, parts)
            count += members.sizes[0]
            continue
        values = main.values(piece, parts)
        add(values, place.element(), parts)
        count += len(values)
    if main.kind == b"{":
        place.objects, place.sizes = place.objects + 1, widest(sizes, (count, count))
    else:
        place.arrays, place.lengths = place.arrays + 1, widest(place.lengths, (count, count))
    return main.read_end(READ_BYTES)


def add(values: Sequence[bytes], place: Place, parts: ScannedParts) -> None:
    """Add values without blanks to a place."""
    if objects := [value for value in values if value[0] == OBJECT]:
        place.objects += len(objects)
        add_members(parts.objects(objects), place, parts)
    if arrays := [value for value in values if value[0] == ARRAY]:
        found = parts.elements(arrays) if place.depth < DEEPEST else ()
        place.arrays += len(arrays)
        inside: list[bytes] = []
        for elements in found:
            place.lengths = widest(place.lengths, (len(elements), len(elements)))
            inside += elements
        if inside:
            add(inside, place.element(), parts)
    if len(objects) + len(arrays) < len(values):
        scalars = Counter([value for value in values if value[:1] not in (b"{", b"[")])
        place.scalars.add({value.decode("utf-8", "replace"): times for value, times in scalars.items()})


def add_members(objects: Objects, place: Place, parts: ScannedParts) -> None:
    """Add the members of objects that are at a place."""
    sizes = objects.sizes
    place.sizes = widest(place.sizes, (min(sizes), max(sizes)))
    if place.depth >= DEEPEST:
        return
    names = objects.names
    if not place.mapped and len({*place.keys, *names}) > MOST_KEYS:
        place.become_map()
    if place.mapped:
        add(objects.all_values, place.element(), parts)
    else:
        for name in names:
            add(objects.values(name), place.member(printable(name)), parts)


def lines(root: Place) -> Iterator[str]:
    """Yield the outline from the top down, so that a cut at its end removes the deepest values."""
    queue = [("", root)]
    written_lines = 0
    for path, place in queue:
        if place.each is not None and has_inside(place.each):
            queue.append((f"{path}/*", place.each))
        queue += [(f"{path}/{step(name)}", child) for name, child in place.keys.items() if has_inside(child)]
        line = described(path, place)
        if path and not place.keys:
            # Its content is in the line of its parent, or in that of its elements.
            continue
        written_lines += 1
        if written_lines > MOST_LINES:
            yield f"deeper: {', '.join(deep for deep, _ in queue[-8:])}"[:LINE_CHARACTERS]
            return
        yield line if len(line) <= LINE_CHARACTERS else line[: LINE_CHARACTERS - 3] + "..."


def has_inside(place: Place) -> bool:
    return bool(place.keys) or (place.each is not None and has_inside(place.each))


def step(name: str) -> str:
    """Return a key as a step of a JSON pointer, on one line."""
    return as_step(name).replace("\n", "\\n")[:80]


def described(path: str, place: Place) -> str:
    """Return a path and what it holds."""
    if not place.keys:
        return f"{path or '/'}: {content(place)}"
    often = f" ({place.objects})" if place.objects > 1 else ""
    phrases = []
    for name, child in place.keys.items():
        missing = f" (in {child.count})" if child.count < place.objects else ""
        phrases.append(f"{step(name)}{missing} {content(child)}")
    other_values = content(place, inside=False)
    return f"{path or '/'}{often}: {'; '.join(phrases)}" + (f"; or {other_values}" if other_values else "")


def content(place: Place, *, inside: bool = True) -> str:
    """Return what is at a place, in a few words."""
    phrases = []
    if place.mapped:
        phrases.append(f"map {{{span(place.sizes)}}} of {content(place.element())}")
    elif place.objects and inside:
        phrases.append(f"{{{span(place.sizes)}}}")
    if place.arrays:
        elements = f" of {content(place.each)}" if place.each is not None and place.each.count else ""
        phrases.append(f"[{span(place.lengths)}]{elements}")
    if place.scalars.count:
        phrases.append(place.scalars.words)
    return " or ".join(phrases)


def span(ends: tuple[int, int] | None) -> str:
    if ends is None:
        return "0"
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]}..{ends[1]}"
