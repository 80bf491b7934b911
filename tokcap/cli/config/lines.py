"""Find the line of each key in a TOML text, for messages and reports: `tomllib` does not tell it.

In a text that is not valid TOML, the keys before the first error are found.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokcap.lean.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeAlias

    Keys: TypeAlias = tuple[str, ...]

# No known key is nested more deeply. Below this depth, the names of the tables are not distinguished.
DEEPEST = 8

BLANK = re.compile(r"(?:\s+|#[^\n]*)*")
PART = re.compile(r"""[ \t]*(?:([A-Za-z0-9_-]+)|("(?:[^"\\\n]|\\.)*"|'[^'\n]*'))[ \t]*""")
BARE = r"""[^\s,#=\[\]{}"']"""
VALUE = re.compile(
    # Up to two quotation marks before the three that end a multi-line string belong to it.
    r'"{3}(?:[^\\]|\\.)*?"{3,5}' + r"|'{3}.*?'{3,5}" + r'|"(?:[^"\\\n]|\\.)*"' + r"|'[^'\n]*'"
    # A date and its time may be separated by a space.
    rf"|[0-9-]{{10}}[ ][0-9:.]+{BARE}*|{BARE}+",
    re.DOTALL,
)


class Placed(Record):
    """A key, or the header of a table, with the names of all tables around it."""

    keys: Keys
    line: int
    # Where it begins in the text, and whether it is outside of any value.
    start: int
    is_statement: bool


def line_of(keys: Sequence[str], text: str) -> int | None:
    """Return the first line that mentions a key."""
    wanted = tuple(keys)
    return next((found.line for found in placed_keys(text) if found.keys[: len(wanted)] == wanted), None)


def placed_keys(text: str) -> Iterator[Placed]:
    """Yield all keys in their order, including those of inline tables."""
    table: Keys = ()
    keys: Keys = ()
    # The open arrays and inline tables: whether each is a table, and its keys.
    around: list[tuple[bool, Keys]] = []
    wants_key = True
    position, line, counted = 0, 1, 0
    while blank := BLANK.match(text, position):
        position = blank.end()
        line, counted = line + text.count("\n", counted, position), position
        sign = text[position : position + 1]
        if around and sign in ("]", "}"):
            around.pop()
            keys, wants_key = around[-1][1] if around else (), not around
            position += 1
        elif around and sign == ",":
            wants_key, keys = around[-1]
            position += 1
        elif wants_key:
            is_head = sign == "[" and not around
            name, end = dotted_key(text, position + (2 if text.startswith("[[", position) else is_head))
            if not name:
                return
            outer = around[-1][1] if around else table
            keys = name if is_head else outer + name if len(around) < DEEPEST else outer
            yield Placed(keys, line, position, not around)
            if is_head:
                table = keys
                position = end + (2 if text.startswith("]]", end) else 1)
            else:
                position, wants_key = end + 1, False
        elif sign in ("[", "{"):
            around.append((sign == "{", keys))
            wants_key = sign == "{"
            position += 1
        elif value := VALUE.match(text, position):
            wants_key = not around
            position = value.end()
        else:
            return


def dotted_key(text: str, position: int) -> tuple[Keys, int]:
    """Return the names of a key and where it ends; no names if there is no key."""
    names: list[str] = []
    while part := PART.match(text, position):
        bare, quoted = part.groups()
        names.append(bare or unquoted(quoted))
        position = part.end()
        if text[position : position + 1] != ".":
            return tuple(names), position
        position += 1
    return (), position


def unquoted(name: str) -> str:
    if name.startswith("'") or "\\" not in name:
        return name[1:-1]
    import tomllib

    try:
        return str(tomllib.loads(f"name = {name}")["name"])
    except ValueError:
        return name[1:-1]
