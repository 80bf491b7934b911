"""The outline of JSON: one line for every object with its path, its members, and what they hold.

Elements of an array are merged into one, `/items/*`, so that a thousand records take one line. The source may
end anywhere and may be nested to any depth.
"""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes.json_text.pointers import as_step
from tokcap.shapes.json_text.scanner import CLOSED, OPENED, printable, start_of_text, string_text, walk
from tokcap.shapes.value_summary import ValueSummary

if TYPE_CHECKING:
    from collections.abc import Iterator

# Only this much of a payload is read.
READ_BYTES = 4 << 20
# An object with more keys is a map: its values are merged, as the elements of an array are.
MOST_KEYS = 40
DEEPEST = 24
# Decoded keys that are remembered.
MOST_NAMES = 10_000
MOST_LINES, LINE_CHARACTERS = 30, 700


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
        # Whether its objects have so many keys that they are merged.
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
                return self._become_map()
            self.keys[key] = Place(self.depth + 1)
        return self.keys[key]

    def _become_map(self) -> Place:
        self.mapped = True
        places, self.keys = self.keys, {}
        for place in places.values():
            self.element().join(place)
        return self.element()

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
            self._become_map()
        if other.each is not None:
            self.element().join(other.each)
        for key, place in other.keys.items():
            self.member(key).join(place)


def widest(one: tuple[int, int] | None, other: tuple[int, int] | None) -> tuple[int, int] | None:
    if one is None or other is None:
        return one or other
    return min(one[0], other[0]), max(one[1], other[1])


def read(data: bytes, *, many: bool, filling: tuple[int, Place] | None = None) -> Place:
    """Return the values by their paths. `many` values side by side count as the elements of one array.

    `filling`: where a container begins that is empty in `data`, and what it holds.
    """
    root = Place(0)
    if many:
        root.arrays = 1
    # For each open container: its place (None below the deepest), whether it is an object, its children so
    # far.
    open_places: list[tuple[Place | None, bool]] = []
    counts: list[int] = []
    names: dict[bytes, str] = {}
    values = 0
    for event, key, start, end in walk(data, start_of_text(data)):
        if event == CLOSED:
            close(*open_places.pop(), counts.pop())
            continue
        if open_places:
            counts[-1] += 1
            holder = open_places[-1][0]
        else:
            values += 1
            holder = root
        place: Place | None
        if holder is None or holder.depth >= DEEPEST:
            place = None
        elif key is not None:
            place = holder.member(known_name(data[slice(*key)], names))
        else:
            place = holder.element() if open_places or many else root
        text = data[start:end]
        if filling and start == filling[0]:
            if place is not None:
                place.join(filling[1])
            open_places.append((None, False))
            counts.append(0)
        elif event == OPENED:
            open_places.append((place, text == b"{"))
            counts.append(0)
        elif place is not None:
            word = text.decode("utf-8", "replace")
            place.scalars.add(word, number=text[:1] in b"-0123456789" and is_number(word))
    # The text may end inside containers: what was seen of them counts.
    while open_places:
        close(*open_places.pop(), counts.pop())
    if many:
        root.lengths = values, values
    return root


def known_name(key: bytes, names: dict[bytes, str]) -> str:
    """Return the name that a key is, remembered in `names` as long as there are not too many."""
    name = names.get(key)
    if name is None:
        name = name_of(key)
        if len(names) < MOST_NAMES:
            names[key] = name
    return name


def close(place: Place | None, is_object: bool, count: int) -> None:
    """Count a container that ends, with its number of children."""
    if place is None:
        return
    if is_object:
        place.objects += 1
        place.sizes = widest(place.sizes, (count, count))
    else:
        place.arrays += 1
        place.lengths = widest(place.lengths, (count, count))


def is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def name_of(key: bytes) -> str:
    try:
        return printable(string_text(key))
    except ValueError:
        return key.decode("utf-8", "replace")


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
