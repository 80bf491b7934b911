"""Find the value in JSON text that a pointer (RFC 6901) leads to.

In JSON Lines the first step is the number of the record. If a key occurs twice, the first one is used.
"""

from __future__ import annotations

from tokcap.core.seek_points import ShapeSeekPoints
from tokcap.errors import NotFound
from tokcap.shapes import json_scanner as scanner
from tokcap.shapes.base import Value
from tokcap.shapes.json_reader import NUMBERS_PER_LEVEL
from tokcap.shapes.json_scanner import SEPARATORS
from tokcap.shapes.paths import index_of, steps_of
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.payload import Payload
    from tokcap.shapes.json_scanner import Span, View

NAMES_SHOWN = 12
# What a level of a seek point has (see `json_reader`).
BEGIN, START, COUNT = 0, 1, 3


def value_at(payload: Payload, pointer: str, *, lines: bool) -> Value:
    """Return the value at a pointer; `NotFound` says what there is instead."""
    source = payload.view()
    seek_points = ShapeSeekPoints(payload.seek_points, "jsonl" if lines else "json", source)
    search = Search(source, pointer, seek_points)
    try:
        start, end = search.span(lines=lines)
    except Exception:
        # Where a byte was changed, nothing can be said about what is there.
        payload.check(0, payload.size)
        raise
    for part in search.passed:
        payload.check(*part)
    text = source[start:end]
    if text[:1] == b'"':
        return Value(scanner.printable(scanner.string_text(text)).encode(), "text")
    last_line = text[max(text.rfind(b"\n"), 0) :]
    # No string has a line break in it, so this only removes the indentation of the whole value.
    indented = last_line[: -len(last_line.lstrip())]
    return Value((text.replace(indented, b"\n") if indented else text) + b"\n", "json")


class Search:
    """Follows one pointer."""

    def __init__(self, source: View, pointer: str, seek_points: ShapeSeekPoints) -> None:
        self._source = source
        self._pointer = pointer
        self._seek_points = seek_points
        # The parts of the source that were read on the way.
        self.passed: list[Span] = []

    def span(self, *, lines: bool) -> Span:
        """Return where the value at the pointer begins and ends."""
        source, pointer = self._source, self._pointer
        steps = list(steps_of(pointer))
        begin = scanner.start_of_text(source)
        start = scanner.skip_blanks(source, begin)
        self.passed.append((0, start + 1))
        where = ""
        if lines:
            start = self._element(begin, steps.pop(0), where, lines=True)
            where = f"/{pointer[1:].split('/')[0]}"
        for step in steps:
            sign = source[start : start + 1]
            if sign == b"[":
                start = self._element(start, step, where, lines=False)
            elif sign == b"{":
                container, start = start, member(source, start, step, where, pointer)
                self.passed.append((container, start + 1))
            else:
                raise NotFound(f"no value at {pointer}: {where or 'the document'} is not an object or array")
            where += f"/{step}"
        end = scanner.end_of_value(source, start)
        self.passed.append((start, end))
        return start, end

    def _element(self, container: int, step: str, where: str, *, lines: bool) -> int:
        """Return where the element of that number begins, in the array or sequence at `container`."""
        wanted = index_of(step)
        place, before = self._seek(container, wanted)
        source = self._source
        if lines:
            spans = scanner.values(source, place)
        else:
            first = SEPARATORS.match(source, place + 1 if place == container else place)
            assert first
            spans = scanner.elements_from(source, first.end())
        number = before - 1
        for number, (start, _) in enumerate(spans, before):
            if number == wanted:
                self.passed.append((place, start + 1))
                return start
        top = where or "the top"
        there = f"{top} has the elements 0 to {number}" if number >= 0 else f"{top} is empty"
        raise NotFound(f"no value at {self._pointer}: {there}")

    def _seek(self, container: int, wanted: int) -> tuple[int, int]:
        """Return a place between elements before the one that is wanted, and how many are before it."""

        def element_at(byte: int, numbers: Sequence[int]) -> tuple[int, int] | None:
            """Return a place before an element, and the number of that; None outside of the container."""
            for level in range(0, len(numbers), NUMBERS_PER_LEVEL):
                if numbers[level + START] != container:
                    continue
                count, inner = numbers[level + COUNT], level + NUMBERS_PER_LEVEL
                # The seek point may be inside the last element.
                return (byte, count) if inner == len(numbers) else (numbers[inner + BEGIN], count - 1)
            return None

        def is_reached(byte: int, numbers: Sequence[int]) -> bool:
            found = element_at(byte, numbers)
            return byte <= container if found is None else found[1] <= wanted

        point = self._seek_points.last(is_reached)
        found = element_at(*point) if point else None
        return found or (container, 0)


def member(source: View, start: int, step: str, passed: str, pointer: str) -> int:
    """Return where the value of that key begins."""
    names: list[str] = []
    for key, value in scanner.members(source, start):
        name = scanner.string_text(source[slice(*key)])
        if name == step:
            return value[0]
        if len(names) <= NAMES_SHOWN:
            names.append(scanner.printable(name))
    shown = ", ".join(names[:NAMES_SHOWN]) + (", ..." if len(names) > NAMES_SHOWN else "")
    raise NotFound(f"no value at {pointer}: {passed or 'the document'} has the keys {shown or '(none)'}")
