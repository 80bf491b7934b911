"""Plain values as JSON text, for the files that we write ourselves on every run.

The standard library's encoder does the same, and takes half as long to load as Python to start; orjson takes
longer still. Only its C function for strings is used, which needs neither.
"""

from __future__ import annotations

from _json import encode_basestring_ascii as quoted


def dumps(value: object, indent: str = "\n") -> str:
    """The text of nested dicts, lists, strings, numbers, booleans and None, one member to a line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return quoted(value)
    deeper = indent + " "
    if isinstance(value, dict):
        members = [f"{quoted(str(key))}: {dumps(member, deeper)}" for key, member in value.items()]
        return "{" + deeper + f",{deeper}".join(members) + indent + "}" if members else "{}"
    assert isinstance(value, list | tuple), value
    elements = [dumps(element, deeper) for element in value]
    return "[" + deeper + f",{deeper}".join(elements) + indent + "]" if elements else "[]"
