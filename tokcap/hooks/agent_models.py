"""Read which model an agent uses from its settings. What cannot be read is as if it were not there."""

from __future__ import annotations

from tokcap.errors import HookRefused
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_CHARACTERS = 200


def in_json(paths: Sequence[str], *keys: str) -> str:
    """Return a text below these keys in the first of some JSON files that has it; comments are allowed."""
    from tokcap.hooks.settings import is_blank, text_of
    from tokcap.hooks.settings_entry import parse_root
    from tokcap.hooks.settings_file import read

    for path in paths:
        try:
            data = read(path)
            if data is None or is_blank(data):
                continue
            value: object = parse_root(path, text_of(path, data)).plain()
        except (HookRefused, ValueError):
            continue
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if found := plain(value):
            return found
    return ""


def in_toml(path: str, key: str) -> str:
    """Return a text at the top of a TOML file."""
    import tomllib

    from tokcap.hooks.settings_file import read

    try:
        data = read(path)
        return "" if data is None else plain(tomllib.loads(data.decode()).get(key))
    except (HookRefused, ValueError):
        return ""


def in_variables(variables: Mapping[str, str], *names: str) -> str:
    """Return the first of these variables that is set."""
    return next((found for name in names if (found := plain(variables.get(name)))), "")


def plain(value: object) -> str:
    return value if isinstance(value, str) and 0 < len(value) <= MOST_CHARACTERS else ""
