"""Bytes of an account in, its lines out. What is none is counted, and passed over."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator


class Line(NamedTuple):
    """One call, as `account` wrote it down. Not a `Record`: there may be many thousands of them."""

    kind: str
    # Empty: of a `show` whose run did not record it.
    command: str
    session: str
    tokenizer: str
    handle: str
    # Tokens; None: nobody has counted them.
    shown: int | None
    total: int | None
    # Tokens of stderr, where those of stdout may become known later.
    stderr: int | None
    bytes: int
    shown_bytes: int


# No size or count that we write comes near to it.
MOST = 1 << 60
KINDS = ("run", "show")


def lines_of(data: bytes) -> Iterator[Line | None]:
    """The lines of an account; None for one that is broken."""
    for raw in data.split(b"\n"):
        if raw:
            yield read_line(raw)


def read_line(raw: bytes) -> Line | None:
    """Whatever the file has been through: nothing in it is believed unseen."""
    try:
        fields = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    if type(fields) is not dict:
        return None
    find = fields.get
    line = Line(
        find("kind", ""),
        find("command", ""),
        find("session", ""),
        find("tokenizer", ""),
        find("handle", ""),
        find("shown"),
        find("total"),
        find("stderr"),
        find("bytes", -1),
        find("shown_bytes", -1),
    )
    names, counts, sizes = line[:5], line[5:8], line[8:]
    if {*map(type, names)} != {str} or line.kind not in KINDS or not line.tokenizer:
        return None
    numbers = [number for number in (*sizes, *counts) if number is not None]
    if None in sizes or {*map(type, numbers)} != {int} or min(numbers) < 0 or max(numbers) >= MOST:
        return None
    return line if line.command or line.kind == "show" else None
