"""JSON records as rows of one table: source text in, TSV out, or None where it is no table.

TSV, because it costs least: measured on six kinds of records with `cl100k_base` and `o200k_base`, it
takes as many tokens as CSV for flat records (commas win only before minus signs), 3 % fewer for prose,
11 % fewer for mixed and 32 % fewer for nested ones, whose quotes CSV doubles. A cell is quoted only if it
has to be. Numbers are copied, strings read, nested values copied without white space. A key that is
missing, null and an empty string are empty cells: telling them apart would cost a token each.
"""

from __future__ import annotations

import re

from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes.jsontext import compact, key_text, presentable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from mmap import mmap

BEGIN = re.compile(rb"[ \t\r\n]*+")
BRACKET = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]', re.DOTALL)
STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
WORD = rb'[^\s\[\]{},:"]++'
SCALAR = re.compile(rb"%s|%s" % (STRING, WORD), re.DOTALL)
# A key, then a value that is no container if group 2 is there.
MEMBER = re.compile(rb"[ \t\r\n]*+(%s)[ \t\r\n]*+:[ \t\r\n]*+(%s|%s)?" % (STRING, STRING, WORD), re.DOTALL)
NEXT = re.compile(rb"[ \t\r\n]*+([,}\]])")

# A document may have this much beside its rows: it is told apart from them, in full.
BESIDE_BYTES = 400

# What a cell holds only inside quotes.
SPECIAL = re.compile(r'^"|[\t\r\n]')


class NotThere(Exception):
    """What is looked for is not at this place."""


class Rows(Record):
    """Records as a table, and the members beside them in their document."""

    data: bytes
    beside: bytes = b""


def table_of(data: bytes | mmap, begin: int, *, lines: bool) -> Rows | None:
    """The records of an array, of lines, or of the only array of objects at the top of an object."""
    try:
        if lines:
            return rows(data, values(data, begin), len(data))
        start = first_sign(data, begin)
        if data[start : start + 1] == b"[":
            return rows(data, elements(data, start), len(data))
        if data[start : start + 1] != b"{":
            return None
        found = None
        beside = []
        beside_bytes = 0
        for key, first, end in members(data, start):
            if data[first : first + 1] == b"[" and opens_with_object(data, first):
                if found is not None:
                    return None
                found = first
                continue
            beside_bytes += end - first + len(key)
            # White space inside it does not count, but there should not be megabytes of it.
            if beside_bytes > 10 * BESIDE_BYTES:
                return None
            beside.append(key + b":" + compact(data[first:end]))
        others = b"{" + b",".join(beside) + b"}" if beside else b""
        if found is None or len(others) > BESIDE_BYTES:
            return None
        table = rows(data, elements(data, found), len(data))
        return table and table.but(beside=others)
    except (NotThere, ValueError):
        return None


def rows(data: bytes | mmap, records: Iterator[tuple[int, int]], most_bytes: int) -> Rows | None:
    """Objects as rows; None if one is none, or has a key twice, or the table would be mostly empty."""
    columns: dict[bytes, int] = {}
    names: dict[str, int] = {}
    table: list[list[bytes]] = []
    for start, _ in records:
        if data[start : start + 1] != b"{":
            return None
        row: list[bytes] = [b""] * len(columns)
        seen = set()
        for key, first, end in members(data, start):
            column = columns.get(key)
            if column is None:
                # The same key may be written with other escapes.
                name = presentable(key_text(key))
                column = columns[key] = names.setdefault(name, len(names))
            if column in seen:
                return None
            seen.add(column)
            row += [b""] * (column + 1 - len(row))
            row[column] = cell(data[first:end])
        table.append(row)
        if len(table) * len(names) > most_bytes:
            return None
    if not names:
        return None
    table.insert(0, [quoted(name) for name in names])
    for row in table:
        row += [b""] * (len(names) - len(row))
    # A row of one empty cell would be a blank line, and blank lines are no rows.
    written = b"".join((b"\t".join(row) or b'""') + b"\n" for row in table)
    return Rows(written) if len(written) <= most_bytes else None


def cell(source: bytes) -> bytes:
    """A value as it stands in the table."""
    sign = source[:1]
    if sign == b'"':
        return source[1:-1] if b"\\" not in source else quoted(presentable(key_text(source)))
    if sign in (b"{", b"["):
        return compact(source)
    return b"" if source == b"null" else source


def quoted(text: str) -> bytes:
    cell = text.encode()
    return b'"' + cell.replace(b'"', b'""') + b'"' if SPECIAL.search(text) else cell


def first_sign(data: bytes | mmap, place: int) -> int:
    """The first place from here on that is not blank."""
    match = BEGIN.match(data, place)
    return match.end() if match else place


def opens_with_object(data: bytes | mmap, start: int) -> bool:
    """Whether the first element of an array is an object."""
    inside = first_sign(data, start + 1)
    return data[inside : inside + 1] == b"{"


def end_of(data: bytes | mmap, start: int) -> int:
    """Where the value ends that begins here or behind blanks. Nesting may be of any depth."""
    start = first_sign(data, start)
    if data[start : start + 1] not in (b"{", b"["):
        match = SCALAR.match(data, start)
        if match is None:
            raise NotThere
        return match.end()
    depth = 0
    for match in BRACKET.finditer(data, start):
        sign = data[match.start()]
        if sign in b"[{":
            depth += 1
        elif sign in b"]}":
            depth -= 1
            if not depth:
                return match.end()
    raise NotThere


def members(data: bytes | mmap, start: int) -> Iterator[tuple[bytes, int, int]]:
    """The members of the object that begins here: each key as source text, where its value lies."""
    place = start + 1
    if data[(first := first_sign(data, place)) : first + 1] == b"}":
        return
    while True:
        match = MEMBER.match(data, place)
        if match is None:
            raise NotThere
        first, end = match.end(), match.end()
        if match[2] is not None:
            first = match.start(2)
        else:
            end = end_of(data, first)
        yield match[1], first, end
        place, more = behind(data, end)
        if not more:
            return


def elements(data: bytes | mmap, start: int) -> Iterator[tuple[int, int]]:
    """Where the elements lie of the array that begins here."""
    place = first_sign(data, start + 1)
    if data[place : place + 1] == b"]":
        return
    while True:
        first = first_sign(data, place)
        end = end_of(data, first)
        yield first, end
        place, more = behind(data, end)
        if not more:
            return


def values(data: bytes | mmap, begin: int) -> Iterator[tuple[int, int]]:
    """Where values lie that stand one after the other."""
    place = first_sign(data, begin)
    while place < len(data):
        end = end_of(data, place)
        yield place, end
        place = first_sign(data, end)


def behind(data: bytes | mmap, end: int) -> tuple[int, bool]:
    """The place behind the sign that follows a value, and whether it is a comma."""
    match = NEXT.match(data, end)
    if match is None:
        raise NotThere
    return match.end(), match[1] == b","
