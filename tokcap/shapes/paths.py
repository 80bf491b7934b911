"""Names that lead into a structured payload: fields (`--fields`) and JSON pointers (`--pointer`, RFC 6901).

`a,b.c` names the member `a` and the member `c` of `b`, through arrays. `/a.b/c` is a JSON pointer, for names
with a dot.
"""

from __future__ import annotations

from tokcap.core.response import Notice
from tokcap.errors import NotFound, UsageError
from tokcap.shapes import SHAPES
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from mmap import mmap

    from tokcap.core.payload import Payload
    from tokcap.shapes.base import FieldPath, Value


# Python refuses to convert several thousand digits, and no index has this many.
MOST_DIGITS = 18


def steps_of(pointer: str) -> Sequence[str]:
    """Return the keys and indexes of a pointer that begins with a slash."""
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/")]


def as_step(key: str) -> str:
    """Return a key as one step of a pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def has_bad_escape(pointer: str) -> bool:
    """Return whether a `~` is followed by neither 0 nor 1."""
    return any(part[:1] not in ("0", "1") for part in pointer.split("~")[1:])


def index_of(step: str) -> int:
    """Return the index that a step names, written without leading zeros; -1 if it is not an index."""
    plain = step.isascii() and step.isdigit() and len(step) <= MOST_DIGITS
    return int(step) if plain and (step == "0" or step[0] != "0") else -1


def value_at(payload: Payload, shape: str, pointer: str) -> Value:
    """Return the value at a pointer; raise `UsageError` if the pointer is not valid."""
    if not pointer.startswith("/"):
        message = f"show: --pointer: {pointer[:80]!r} does not begin with /, as in /items/3/body"
        raise UsageError(message, of_a_subcommand=True)
    if has_bad_escape(pointer):
        message = f"show: --pointer: {pointer[:80]!r} has a ~ that is neither ~0 (for ~) nor ~1 (for /)"
        raise UsageError(message, of_a_subcommand=True)
    return SHAPES[shape].value_at(payload, pointer)


NAMES_SHOWN = 20


class Selection(Record):
    """A payload with the fields that were asked for."""

    data: bytes | mmap
    notices: tuple[Notice, ...] = ()


def paths_of(fields: str) -> dict[str, FieldPath]:
    """Return each field as it was written, with the keys that lead to it."""
    paths = {}
    for field in fields.split(","):
        name = field.strip()
        if name.startswith("/"):
            paths[name] = tuple(steps_of(name))
        elif name:
            paths[name] = tuple(name.split("."))
    return paths


def select(payload: Payload, shape: str, fields: str) -> Selection:
    """Return the payload with only these fields. A field that is not there is a warning.

    Raise `NotFound` if there are fields, and none of these.
    """
    paths = paths_of(fields)
    selected = SHAPES[shape].select(payload, list(paths.values()))
    if selected is None:
        ignored = Notice("FIELDS_IGNORED", "--fields was ignored: the output is text, not JSON or a table")
        return Selection(payload.view(), (ignored,))
    missing = [name for name, path in paths.items() if path not in selected.found]
    if not missing:
        return Selection(selected.data)
    names = selected.names
    shown = ", ".join(names[:NAMES_SHOWN]) + (", ..." if len(names) > NAMES_SHOWN else "")
    message = f"no field {', '.join(missing)}: the fields are {shown or 'none'}"
    if names and len(missing) == len(paths):
        raise NotFound(message)
    return Selection(selected.data, (Notice("FIELD_UNKNOWN", message),))
