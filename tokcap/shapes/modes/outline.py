"""The outline of JSON: one line for every object, its path, its members with what they hold.

Elements of an array are merged into one, `/items/*`, so that a thousand records take a line. The source is
read lexeme by lexeme, as far as `LOOKED_BYTES`; it may break off anywhere, and be nested to any depth.
"""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes.jsontext import BYTE_ORDER_MARK, LEXEME, key_text, presentable
from tokcap.shapes.modes.scalars import Scalars

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOKED_BYTES = 4 << 20
# Objects with more keys than this are maps: their values are merged as those of arrays are.
MOST_KEYS = 40
DEEPEST = 24
MOST_LINES, LINE_CHARACTERS = 30, 700


class Place:
    """All values that stand at one path."""

    __slots__ = ("arrays", "depth", "each", "keys", "lengths", "mapped", "objects", "scalars", "sizes")

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.objects = 0
        self.arrays = 0
        # The least and the greatest number of elements, of members.
        self.lengths: tuple[int, int] | None = None
        self.sizes: tuple[int, int] | None = None
        self.keys: dict[str, Place] = {}
        # Whether its objects have too many keys to be told apart.
        self.mapped = False
        # What is in arrays, and in such objects.
        self.each: Place | None = None
        self.scalars = Scalars()

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
        """Take another place's values as well."""
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


def read(data: bytes, *, many: bool) -> Place:
    """What is where; `many` values one after the other count as the elements of one array."""
    root = Place(0)
    if many:
        root.arrays = 1
    # Of each open container: its place (None below the deepest), its closer, its children so far.
    stack: list[tuple[Place | None, bytes]] = []
    counts: list[int] = []
    key: bytes | None = None
    names: dict[bytes, str] = {}
    begin = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    values = 0
    for match in LEXEME.finditer(data, begin):
        text = match[0]
        if text in (b",", b":"):
            continue
        if text in (b"}", b"]"):
            if stack:
                close(*stack.pop(), counts.pop())
            continue
        holder, closer = stack[-1] if stack else (root, b"]" if many else b"")
        if closer == b"}" and key is None:
            key = text
            continue
        if stack:
            counts[-1] += 1
        else:
            values += 1
        place: Place | None
        if holder is None or holder.depth >= DEEPEST:
            place = None
        elif key is not None:
            name = names.get(key)
            if name is None:
                name = name_of(key)
                if len(names) < 10_000:
                    names[key] = name
            place = holder.member(name)
        else:
            place = holder.element() if closer else root
        key = None
        if text in (b"{", b"["):
            stack.append((place, b"}" if text == b"{" else b"]"))
            counts.append(0)
        elif place is not None:
            word = text.decode("utf-8", "replace")
            place.scalars.add(word, number=text[:1] in b"-0123456789" and is_number(word))
    # Cut off inside them, or closed in the right way: what was seen of them counts.
    while stack:
        close(*stack.pop(), counts.pop())
    if many:
        root.lengths = values, values
    return root


def close(place: Place | None, closer: bytes, count: int) -> None:
    if place is None:
        return
    if closer == b"}":
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
        return presentable(key_text(key))
    except ValueError:
        return key.decode("utf-8", "replace")


def lines(root: Place) -> Iterator[str]:
    """The outline, from the top down: what is cut off at the end is what lies deepest."""
    queue = [("", root)]
    told = 0
    for path, place in queue:
        if place.each is not None and has_inside(place.each):
            queue.append((f"{path}/*", place.each))
        queue += [(f"{path}/{step(name)}", child) for name, child in place.keys.items() if has_inside(child)]
        line = described(path, place)
        if path and not place.keys:
            # What it holds was said where it is a member, or will be said of its elements.
            continue
        told += 1
        if told > MOST_LINES:
            yield f"deeper: {', '.join(deep for deep, _ in queue[-8:])}"[:LINE_CHARACTERS]
            return
        yield line if len(line) <= LINE_CHARACTERS else line[: LINE_CHARACTERS - 3] + "..."


def has_inside(place: Place) -> bool:
    return bool(place.keys) or (place.each is not None and has_inside(place.each))


def step(name: str) -> str:
    """A key as a step of a JSON pointer, on one line."""
    return name.replace("~", "~0").replace("/", "~1").replace("\n", "\\n")[:80]


def described(path: str, place: Place) -> str:
    """A path, and what it holds."""
    if not place.keys:
        return f"{path or '/'}: {content(place)}"
    often = f" ({place.objects})" if place.objects > 1 else ""
    said = []
    for name, child in place.keys.items():
        missing = f" (in {child.count})" if child.count < place.objects else ""
        said.append(f"{step(name)}{missing} {content(child)}")
    beside = content(place, inside=False)
    return f"{path or '/'}{often}: {'; '.join(said)}" + (f"; or {beside}" if beside else "")


def content(place: Place, *, inside: bool = True) -> str:
    """What stands at a place, in a few words."""
    said = []
    if place.mapped:
        said.append(f"map {{{span(place.sizes)}}} of {content(place.element())}")
    elif place.objects and inside:
        said.append(f"{{{span(place.sizes)}}}")
    if place.arrays:
        elements = f" of {content(place.each)}" if place.each is not None and place.each.count else ""
        said.append(f"[{span(place.lengths)}]{elements}")
    if place.scalars.count:
        said.append(place.scalars.words)
    return " or ".join(said)


def span(ends: tuple[int, int] | None) -> str:
    if ends is None:
        return "0"
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]}..{ends[1]}"
