"""`--fields`: a structured payload with only some keys or columns, as source text.

`a,b.c` names the member `a` and the member `c` of `b`, through arrays. `/a.b/c` is a JSON pointer, for names
with a dot.
"""

from __future__ import annotations

from tokcap.core.notice import Notice
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes import SHAPES
from tokcap.shapes.json_text.pointers import steps_of

if TYPE_CHECKING:
    from mmap import mmap

    from tokcap.core.payload import Payload
    from tokcap.shapes.base import FieldPath

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
    """Return the payload with only these fields. A field that is not there is a warning."""
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
    message = f"no field {', '.join(missing)}; the fields are: {shown or 'none'}"
    return Selection(selected.data, (Notice("FIELD_UNKNOWN", message),))
