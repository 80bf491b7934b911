"""Find the value in JSON text that a pointer (RFC 6901) leads to.

In JSON Lines the first step is the number of the record. If a key occurs twice, the first one is used.
"""

from __future__ import annotations

from tokcap.errors import NotFound
from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes.base import Value
from tokcap.shapes.json_text import scanner
from tokcap.shapes.json_text.pointers import index_of, steps_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.core.payload import Payload
    from tokcap.shapes.json_text.scanner import Span, View

NAMES_SHOWN = 12


def value_at(payload: Payload, pointer: str, *, lines: bool) -> Value:
    """Return the value at a pointer; `NotFound` says what there is instead."""
    source = payload.view()
    try:
        start, end = span_at(source, pointer, lines=lines)
    except Exception:
        # Where a byte was changed, nothing can be said about what is there.
        payload.check(0, payload.size)
        raise
    payload.check(0, end)
    text = source[start:end]
    if text[:1] == b'"':
        return Value(scanner.printable(scanner.string_text(text)).encode(), "text")
    return Value(text, "json")


def span_at(source: View, pointer: str, *, lines: bool) -> Span:
    """Return where the value at a pointer begins and ends."""
    steps = list(steps_of(pointer))
    start = scanner.skip_blanks(source, scanner.start_of_text(source))
    passed = ""
    if lines:
        start = element(scanner.values(source, start), steps.pop(0), "", pointer)
        passed = f"/{pointer[1:].split('/')[0]}"
    for step in steps:
        sign = source[start : start + 1]
        if sign == b"[":
            start = element(scanner.elements(source, start), step, passed, pointer)
        elif sign == b"{":
            start = member(source, start, step, passed, pointer)
        else:
            raise NotFound(f"no value at {pointer}: {passed or 'the document'} is not an object or array")
        passed += f"/{step}"
    return start, scanner.end_of_value(source, start)


def element(spans: Iterator[Span], step: str, passed: str, pointer: str) -> int:
    """Return where the element of that number begins."""
    wanted = index_of(step)
    number = -1
    for number, (start, _) in enumerate(spans):
        if number == wanted:
            return start
    where = passed or "the top"
    there = f"{where} has the elements 0 to {number}" if number >= 0 else f"{where} is empty"
    raise NotFound(f"no value at {pointer}: {there}")


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
