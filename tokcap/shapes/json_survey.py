"""Windows over JSON with many gaps: the values that a survey of all values chose (`--keep focus`).

Small values are the units, larger containers are divided. To the survey each unit is a line: the keys that
lead to it, and its text. Of a large document only both ends are read value by value, and the places that a
survey of its raw text found.
"""

from __future__ import annotations

from tokcap.focus.lines import BLOCK_BYTES, LineMap, blocks_of
from tokcap.focus.structure import is_sorted
from tokcap.focus.window import RecordSurvey
from tokcap.shapes.json_reader import ARRAY, LINES, OBJECT
from tokcap.shapes.json_scanner import compact
from tokcap.shapes.json_units import Hidden, Unit, common_container
from tokcap.startup.patterns import later
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tokcap.core.cut import Cost, Part, Ranges, SurveyPolicy
    from tokcap.core.payload import Payload
    from tokcap.core.tokenizer import TokenMap
    from tokcap.shapes.json_reader import Node
    from tokcap.shapes.json_scanner import View

# A document up to this size is read whole.
WHOLE_BYTES = 2 << 20
# A container with more bytes is divided, also one with more than these bytes per token of the limit.
MOST_UNIT_BYTES, UNIT_BYTES = 240, 0.25
# A scalar with more bytes per token of the limit is not shown.
LONGEST_BYTES = 2
LEAST_UNIT_BYTES = 64
# Of a large document this many bytes are read around each place, at most for this many places.
AROUND_BYTES, MOST_PLACES = 4 << 10, 24
# Bytes per token of the limit that are read at each end of a large document.
END_BYTES = 8
# A survey sees this much of a unit.
LINE_BYTES = 400
# `"[TRUNCATED] 12 hidden",` or `"[TRUNCATED]":12,`
GAP_TOKENS = 8
# Members that tell which record a value belongs to, the most telling first.
NAMES = b"name id title key path file filename filePath host url"
MESSAGES = b"message msg error err reason detail"
NAME_KEYS, MESSAGE_KEYS = ([b'"%b"' % name for name in names.split()] for names in (NAMES, MESSAGES))
# Keys that differ only in digits are taken for names of records.
DIGITS = b"0123456789"
# A value is worth this share of one that is nearer to the root by one level.
DEPTH_SHARE, MOST_LANDMARKS = 0.8, 400
# Of this many numbers at one path, the largest and the smallest are worth this share.
LEAST_NUMBERS, EXTREME_WEIGHT = 12, 0.65
NUMBER = later(rb'"([^"\\]{1,60})" *: *(-?\d{1,15}(?:\.\d{1,15})?)(?![\w.])')
# A path is only a part of a line.
LONGEST_PATH_BYTES = 200
LINE_ENDS = bytes.maketrans(b"\r\n", b"  ")


def units_of(root: Node, first_byte: int, limit: int) -> Sequence[Unit]:
    """Return small values in order; containers that are too large for one unit are divided."""
    most_bytes = min(max(LEAST_UNIT_BYTES, round(limit * UNIT_BYTES)), MOST_UNIT_BYTES)
    longest = max(LEAST_UNIT_BYTES, limit * LONGEST_BYTES)
    units: list[Unit] = []
    pending = [iter(root.children)]
    while pending:
        node = next(pending[-1], None)
        if node is None:
            pending.pop()
        elif node.begin < first_byte or (node.count and (node.end < 0 or node.end - node.start > most_bytes)):
            pending.append(iter(node.children))
        elif node.end >= 0:
            units.append(Unit(node, opaque=node.end - node.start > longest))
    return units


def all_pieces(units: Sequence[Unit], shown: Ranges, root: Node) -> Sequence[Unit | Hidden]:
    """Return the units of these ranges in order, and what is hidden in every container of them."""
    pieces: list[Unit | Hidden] = []
    before: Node | None = None
    place = 0
    for first, end in shown:
        if place < first:
            pieces += hidden_between(before, units[first].node, root)
        pieces += units[first:end]
        place, before = end, units[end - 1].node
    if place < len(units):
        pieces += hidden_between(before, None, root)
    return pieces


def hidden_between(before: Node | None, after: Node | None, root: Node) -> Iterator[Hidden]:
    """Yield what is hidden between two values, in each container that one of them is in; None: the ends."""
    common = root if before is None or after is None else common_container(before, after)
    last = first = -1
    for container, index in ways_up(before, common):
        left = container.count - index - 1
        if container is common:
            last = index
        elif left > 0 or container.end < 0:
            yield Hidden(container, max(left, 0) or None)
    inside = []
    for container, index in ways_up(after, common):
        if container is common:
            first = index
        elif index:
            inside.append(Hidden(container, index))
    if after is None:
        yield Hidden(common)
    elif first - last > 1:
        yield Hidden(common, first - last - 1)
    yield from reversed(inside)


def ways_up(node: Node | None, common: Node) -> Iterator[tuple[Node, int]]:
    """Yield each container around a value, up to a common one, and the place of what leads to the value."""
    while node is not None and node is not common and node.parent is not None:
        yield node.parent, node.index
        node = node.parent


def one_mark_in_an_object(pieces: Sequence[Unit | Hidden]) -> Sequence[Unit | Hidden]:
    """Join the marks in each object to the last one: the order of its members means nothing."""
    last: dict[Node, int] = {}
    hidden: dict[Node, int | None] = {}
    for place, piece in enumerate(pieces):
        if isinstance(piece, Hidden) and piece.container.kind == OBJECT:
            so_far = hidden.get(piece.container, 0)
            last[piece.container] = place
            hidden[piece.container] = (
                None if so_far is None or piece.children is None else so_far + piece.children
            )
    found: list[Unit | Hidden] = []
    for place, piece in enumerate(pieces):
        if isinstance(piece, Hidden) and piece.container in last:
            if last[piece.container] != place:
                continue
            piece = Hidden(piece.container, hidden[piece.container])  # the joined mark
        found.append(piece)
    return found


class JsonSurvey(RecordSurvey):
    """The units of a JSON payload and one limit."""

    gap_tokens = GAP_TOKENS

    def __init__(
        self,
        payload: Payload,
        data: View,
        tokens: TokenMap,
        units: Sequence[Unit],
        limit: int,
        parts_of: Callable[[Ranges], tuple[Part, ...]],
        cost: Cost,
    ) -> None:
        super().__init__(payload, len(units), tokens, limit, parts_of, cost)
        self._data = data
        self._units = units
        self._paths: dict[Node, bytes] = {}
        self._known: dict[int, int] = {}
        self._names = [names_of_records(units, keys) for keys in (NAME_KEYS, MESSAGE_KEYS)]

    def with_names(self, shown: Ranges) -> Ranges:
        """Add to each value the name and the message of its record: alone it would say little."""
        numbers = {number for first, end in shown for number in range(first, end)}
        names = set()
        for number in numbers:
            node = self._units[number].node.parent
            while node is not None:
                names.update([found[node] for found in self._names if node in found])
                node = node.parent
        return ranges_of(sorted(numbers | names))

    def landmarks(self) -> Sequence[tuple[int, float]]:
        """Return the first value of each path, and the extremes of numbers.

        Values near the root are worth more.
        """
        found: dict[bytes, tuple[int, float]] = {}
        numbers: dict[tuple[bytes, bytes], list[tuple[float, int]]] = {}
        for number, unit in enumerate(self._units):
            if unit.opaque:
                continue
            path = self._path_of(unit.node).translate(None, DIGITS)
            if path not in found and len(found) < MOST_LANDMARKS:
                found[path] = (number, DEPTH_SHARE ** (unit.node.depth - 1))
            text = self._data[unit.node.begin : min(unit.node.end, unit.node.begin + LINE_BYTES)]
            for key, value in NUMBER.findall(text):
                numbers.setdefault((path, key), []).append((float(value), number))
        for values in numbers.values():
            # Numbers in order are those of a counter or a clock.
            if len(values) >= LEAST_NUMBERS and not is_sorted([value for value, _ in values]):
                for extreme in (max(values, key=lambda each: (each[0], -each[1])), min(values)):
                    found[b"%d" % extreme[1]] = (extreme[1], EXTREME_WEIGHT)
        return list(found.values())

    def blocks(self) -> Iterator[bytes]:
        """Yield a line for each unit: `items[].status.phase: "Running"`."""
        lines: list[bytes] = []
        size = 0
        for unit in self._units:
            node = unit.node
            text = self._data[node.start : min(node.end, node.start + LINE_BYTES)]
            lines.append(self._path_of(node) + b": " + text.translate(LINE_ENDS) + b"\n")
            size += len(lines[-1])
            if size > BLOCK_BYTES:
                yield b"".join(lines)
                lines, size = [], 0
        yield b"".join(lines)

    def _path_of(self, node: Node) -> bytes:
        """Return the last keys that lead to a value. Elements of an array all have the same path."""
        unknown = [node]
        # Not by recursion: a document may be very deep.
        while (
            (parent := unknown[-1].parent) is not None
            and parent.parent is not None
            and parent not in self._paths
        ):
            unknown.append(parent)
        path = b""
        for each in reversed(unknown):
            around = self._paths.get(each.parent, b"") if each.parent is not None else b""
            path = around[-LONGEST_PATH_BYTES:] + step_to(each, is_first=not around)
            if each is not node:
                self._paths[each] = path
        return path

    def tokens_between(self, first: int, end: int) -> int:
        return sum(map(self._tokens_of, range(first, end)))

    def _tokens_of(self, number: int) -> int:
        known = self._known.get(number)
        if known is None:
            unit = self._units[number]
            if unit.opaque:
                # It cannot be shown whole: no choice affords it.
                known = 2 * self.limit
            else:
                node = unit.node
                text = compact(self._data[node.start : node.end])
                known = self._tokens.count_alone((node.key or b"") + b":" + text + b",")
            self._known[number] = known
        return known

    def text_of(self, unit: int) -> bytes:
        node = self._units[unit].node
        return self._data[node.begin : node.end]


def step_to(node: Node, *, is_first: bool) -> bytes:
    """Return what the path of a value has after that of the container around it."""
    if node.key is None:
        return b"[]" if node.parent is not None and node.parent.kind == ARRAY else b""
    key = node.key[1:-1]
    return key if is_first else b"." + key


def names_of_records(units: Sequence[Unit], keys: Sequence[bytes]) -> dict[Node, int]:
    """Return for each record that is divided into units the unit with the most telling of these keys."""
    best: dict[Node, tuple[int, int, int]] = {}
    for number, unit in enumerate(units):
        node = unit.node
        if unit.opaque or node.is_container or node.key not in keys:
            continue
        record = node.parent
        while record is not None and record.parent is not None and record.parent.kind not in (ARRAY, LINES):
            record = record.parent
        if record is not None and record.parent is not None:
            # The member next to the record itself, then the most telling key.
            rank = (node.depth, keys.index(node.key), number)
            best[record] = min(best.get(record, rank), rank)
    return {record: number for record, (_, _, number) in best.items()}


def ranges_of(numbers: Sequence[int]) -> Ranges:
    """Return sorted numbers as ranges."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number:
            found[-1] = (found[-1][0], number + 1)
        else:
            found.append((number, number + 1))
    return tuple(found)


class RawText:
    """The raw text of a large document as lines; a comma ends a line too. Implements `Surveyable`."""

    def __init__(self, payload: Payload, first_byte: int) -> None:
        self.payload = payload
        self.size = payload.size
        self._first_byte = first_byte
        self._map = LineMap(self, first_byte)
        self.count = self._map.count

    def landmarks(self) -> Sequence[tuple[int, float]]:
        return ()

    def read(self, start: int, stop: int) -> bytes:
        return self.payload.read(start, stop).replace(b",", b"\n")

    def blocks(self) -> Iterator[bytes]:
        return blocks_of(self, self._first_byte, self.size)

    def places(self, policy: SurveyPolicy) -> Sequence[int]:
        """Return where in the document something was found, in order."""
        return sorted(self._map.byte_of(found.unit) for found in policy.find_in(self)[:MOST_PLACES])


def stretches(
    payload: Payload, first_byte: int, limit: int, policy: SurveyPolicy
) -> Sequence[tuple[int, int]]:
    """Return the parts of a document that are read value by value: all of it, or ends and places."""
    size = payload.size
    if size - first_byte <= WHOLE_BYTES:
        return [(first_byte, size)]
    end_bytes = AROUND_BYTES + limit * END_BYTES
    found = [(first_byte, first_byte + end_bytes)]
    around = (
        (place - AROUND_BYTES // 4, place + AROUND_BYTES)
        for place in RawText(payload, first_byte).places(policy)
    )
    for begin, end in (*around, (size - end_bytes, size)):
        if begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found
