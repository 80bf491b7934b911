"""Shorten a JSON value so that it stays valid by its JSON Schema: fewer items, shorter texts, fewer optional
members. What a schema restricts in any other way is kept whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Schemas = list[dict[str, Any]]

SENTINEL = "[TRUNCATED]"
# With these, a value that is shortened might not be valid any more.
RESTRICTING = {
    *("const", "enum", "pattern", "format", "contentEncoding", "contentMediaType", "contentSchema"),
    *("not", "if", "then", "else", "contains", "minContains", "minProperties", "propertyNames"),
    *("dependencies", "dependentRequired", "dependentSchemas", "patternProperties"),
    *("unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef"),
}
# For each item of an array that is kept: characters of a text, and members that no schema names.
CHARACTERS, MEMBERS = 32, 8
MOST_ITEMS = 1 << 20


def shortened(
    value: Any, schema: Any, fits: Callable[[Any], bool], lines: Mapping[str, str], note: str
) -> Any | None:
    """Return the longest version of a value that fits; None if there is none.

    Without a schema (None), no member is left out. `lines` are shown instead of some texts. An object gets a
    member with the note, if there is one and the schema allows it.
    """

    def attempt(items: int) -> Any | None:
        shown = part_of(value, [True if schema is None else schema], schema, items, lines)
        if isinstance(shown, dict) and note and shown != value and may_grow(schema):
            shown.setdefault(SENTINEL, note)
        return shown if fits(shown) else None

    best = attempt(0)
    low, high = 0, 1
    while best is not None and high < MOST_ITEMS and (longer := attempt(high)) is not None:
        low, high, best = high, high * 2, longer
    while best is not None and high - low > 1:
        middle = (low + high) // 2
        longer = attempt(middle)
        low, high, best = (low, middle, best) if longer is None else (middle, high, longer)
    return best


def part_of(value: Any, schemas: Sequence[Any], root: Any, items: int, lines: Mapping[str, str]) -> Any:
    """Return a value with at most this many items in each array, and shorter texts and objects likewise."""
    found = gathered(schemas, root)
    if found is None:
        return value
    if isinstance(value, list):
        least = max((schema.get("minItems", 0) for schema in found), default=0)
        return [
            part_of(item, [item_schema(schema, place) for schema in found], root, items, lines)
            for place, item in enumerate(value[: max(items, least)])
        ]
    if isinstance(value, str):
        value = lines.get(value, value)
        most = max((items * CHARACTERS, *(schema.get("minLength", 0) for schema in found)))
        return value if len(value) <= most + len(SENTINEL) else value[:most] + SENTINEL
    if not isinstance(value, dict):
        return value
    # A member may decide which one of several schemas applies.
    is_closed = root is None or any("oneOf" in schema for schema in found)
    required = {name for schema in found for name in schema.get("required", ())}
    named = {name for schema in found for name in schema.get("properties", ())}
    unnamed = [name for name in value if name not in named]
    kept = required | {*unnamed[: items * MEMBERS]} | (named if items else set())
    return {
        name: part_of(member, [member_schema(schema, name) for schema in found], root, items, lines)
        for name, member in value.items()
        if is_closed or name in kept
    }


def may_grow(schema: Any) -> bool:
    """Return whether an object stays valid with a member more."""
    found = gathered([schema], schema)
    return found is not None and all(
        each.get("additionalProperties", True) is True and "maxProperties" not in each for each in found
    )


def gathered(schemas: Sequence[Any], root: Any) -> Schemas | None:
    """Return all schemas that may apply to a value; None if one restricts it in another way than by size."""
    found: Schemas = []
    waiting = [*schemas]
    while waiting:
        schema = waiting.pop()
        if schema is True or schema in found:
            continue
        if not isinstance(schema, dict) or schema.keys() & RESTRICTING:
            return None
        found.append(schema)
        if "$ref" in schema:
            waiting.append(referenced(schema["$ref"], root))
        for several in ("allOf", "anyOf", "oneOf"):
            waiting += schema.get(several, ())
    return found


def referenced(reference: Any, root: Any) -> Any:
    """Return the part of a schema that `#/…` names; None if there is none."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    for name in unquote(reference[1:]).split("/")[1:]:
        name = name.replace("~1", "/").replace("~0", "~")
        root = root.get(name) if isinstance(root, dict) else None
    return root


def item_schema(schema: dict[str, Any], place: int) -> Any:
    first = schema.get("prefixItems", ())
    return first[place] if place < len(first) else schema.get("items", True)


def member_schema(schema: dict[str, Any], name: str) -> Any:
    properties = schema.get("properties", {})
    return properties[name] if name in properties else schema.get("additionalProperties", True)
