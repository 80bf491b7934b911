"""A structured payload and a JSON pointer (RFC 6901) in, the value that it leads to out, as it stands.

In JSON Lines the first step is the number of the record, in a table the row and then the column. Of a key
that stands twice, the first is meant.
"""

from __future__ import annotations

import re

from tokcap.errors import NotFound, UsageError
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes.jsontext import BYTE_ORDER_MARK, key_text, presentable
from tokcap.shapes.passing import end_of_known_value
from tokcap.shapes.tabletext import CSV, TSV, cell_text, cells_of, end_of_row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.core.payload import Payload
    from tokcap.core.request import Shape
    from tokcap.shapes.jsontext import View

NAMES_SHOWN = 12

BLANKS = re.compile(rb"[ \t\r\n]*+")


class Value(Record):
    """What a pointer leads to: text if it is a string or a cell, else JSON."""

    data: bytes
    shape: Shape


def value_at(payload: Payload, shape: Shape, pointer: str) -> Value:
    """The value at a pointer, or a refusal that says what there is instead."""
    if not pointer.startswith("/"):
        message = f"show: --pointer: {pointer[:80]!r} does not begin with /, as in /items/3/body"
        raise UsageError(message, of_a_subcommand=True)
    if re.search(r"~(?![01])", pointer):
        message = f"show: --pointer: {pointer[:80]!r} has a ~ that is neither ~0 (for ~) nor ~1 (for /)"
        raise UsageError(message, of_a_subcommand=True)
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/")]
    if shape in ("csv", "tsv"):
        return cell_at(payload.view(), shape, steps, pointer)
    if shape not in ("json", "jsonl"):
        raise NotFound("the stored output is text: there is nothing that a pointer could lead to; see --grep")
    source = payload.view()
    begin = len(BYTE_ORDER_MARK) if source[:3] == BYTE_ORDER_MARK else 0
    start = after_blanks(source, begin)
    if shape == "jsonl":
        start = element(siblings(source, start), steps[0], "", pointer)
        steps = steps[1:]
    passed = "" if shape == "json" else f"/{pointer[1:].split('/')[0]}"
    for step in steps:
        sign = source[start : start + 1]
        if sign == b"[":
            start = element(elements(source, start), step, passed, pointer)
        elif sign == b"{":
            start = member(source, start, step, passed, pointer)
        else:
            raise NotFound(f"no value at {pointer}: {passed or 'the document'} is no object or array")
        passed += f"/{step}"
    text = source[start : end_of_known_value(source, start)]
    if text[:1] == b'"':
        return Value(presentable(key_text(text)).encode(), "text")
    return Value(text, "json")


def position(step: str) -> int:
    """The number that a step of a pointer is, written without leading zeros; -1 if it is none."""
    plain = step.isascii() and step.isdigit() and len(step) < 19 and (step == "0" or step[0] != "0")
    return int(step) if plain else -1


def element(starts: Iterator[int], step: str, passed: str, pointer: str) -> int:
    """Where the element of that number begins."""
    wanted = position(step)
    number = -1
    for number, start in enumerate(starts):
        if number == wanted:
            return start
    where = passed or "the top"
    raise NotFound(
        f"no value at {pointer}: {where} has the elements 0 to {number}"
        if number >= 0
        else f"no value at {pointer}: {where} is empty"
    )


def member(source: View, start: int, step: str, passed: str, pointer: str) -> int:
    """Where the value of that key begins."""
    names: list[str] = []
    for key, value in members(source, start):
        name = key_text(key)
        if name == step:
            return value
        if len(names) <= NAMES_SHOWN:
            names.append(presentable(name))
    shown = ", ".join(names[:NAMES_SHOWN]) + (", ..." if len(names) > NAMES_SHOWN else "")
    raise NotFound(f"no value at {pointer}: {passed or 'the document'} has the keys {shown or '(none)'}")


def elements(source: View, start: int) -> Iterator[int]:
    """Where the elements of an array begin."""
    place = after_blanks(source, start + 1)
    while source[place : place + 1] != b"]":
        yield place
        place = after_blanks(source, end_of_known_value(source, place))
        if source[place : place + 1] == b",":
            place = after_blanks(source, place + 1)


def siblings(source: View, start: int) -> Iterator[int]:
    """Where the values of a sequence begin."""
    place = start
    while place < len(source):
        yield place
        place = after_blanks(source, end_of_known_value(source, place))


def members(source: View, start: int) -> Iterator[tuple[bytes, int]]:
    """The keys of an object, and where their values begin."""
    place = after_blanks(source, start + 1)
    while source[place : place + 1] != b"}":
        key_end = end_of_known_value(source, place)
        value = after_blanks(source, after_blanks(source, key_end) + 1)
        yield source[place:key_end], value
        place = after_blanks(source, end_of_known_value(source, value))
        if source[place : place + 1] == b",":
            place = after_blanks(source, place + 1)


def after_blanks(source: View, place: int) -> int:
    match = BLANKS.match(source, place)
    return match.end() if match else place


def cell_at(source: View, shape: Shape, steps: list[str], pointer: str) -> Value:
    """The text of a cell: rows count from 0 behind the header, a column has a name or a number."""
    dialect = TSV if shape == "tsv" else CSV
    if len(steps) != 2:
        raise NotFound(f"no value at {pointer}: in a table it is /ROW/COLUMN")
    begin = len(BYTE_ORDER_MARK) if source[:3] == BYTE_ORDER_MARK else 0
    place = end_of_row(source, begin, dialect)
    names = [cell_text(cell) for cell in cells_of(source[begin:place], dialect)]
    row, column = steps
    if column not in names and not (column.isascii() and column.isdigit() and int(column[:9]) < len(names)):
        raise NotFound(f"no value at {pointer}: the columns are {', '.join(names[:NAMES_SHOWN])}")
    wanted = position(row)
    number = 0
    while place < len(source):
        end = end_of_row(source, place, dialect)
        if number == wanted:
            cells = cells_of(source[place:end], dialect)
            at = names.index(column) if column in names else int(column)
            return Value(cell_text(cells[at]).encode() if at < len(cells) else b"", "text")
        place, number = end, number + 1
    raise NotFound(
        f"no value at {pointer}: the rows are 0 to {number - 1}"
        if number
        else f"no value at {pointer}: there are no rows"
    )
