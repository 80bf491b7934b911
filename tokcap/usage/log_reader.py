"""Read the lines of the usage log. A damaged line is returned as None."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator


class LoggedCall(NamedTuple):
    """One call as logged. Not a `Record`, because there may be many thousands."""

    kind: str
    # Empty for a `show` of an output whose command was not stored.
    command: str
    session: str
    tokenizer: str
    handle: str
    # None: not counted.
    shown_tokens: int | None
    total_tokens: int | None
    # The tokens of stderr, if those of stdout may become known later.
    stderr_tokens: int | None
    output_bytes: int
    shown_bytes: int


# No size or count comes near this number; a larger one is damage.
TOO_LARGE = 1 << 60
KINDS = ("run", "show")


def read_lines(data: bytes) -> Iterator[LoggedCall | None]:
    """Read the lines of a log; None for each damaged one."""
    for raw in data.split(b"\n"):
        if raw:
            yield read_line(raw)


def read_line(raw: bytes) -> LoggedCall | None:
    """Read one line; None if any of its values is missing or impossible."""
    try:
        fields = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    if type(fields) is not dict:
        return None
    find = fields.get
    call = LoggedCall(
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
    names, counts, sizes = call[:5], call[5:8], call[8:]
    if {*map(type, names)} != {str} or call.kind not in KINDS or not call.tokenizer:
        return None
    numbers = [number for number in (*sizes, *counts) if number is not None]
    if None in sizes or {*map(type, numbers)} != {int} or min(numbers) < 0 or max(numbers) >= TOO_LARGE:
        return None
    return call if call.command or call.kind == "show" else None
