"""Read the files and flags in which agents keep their permission rules.

If one of them cannot be read, `RulesUnreadable` is raised, and the caller must leave the command unchanged.
"""

from __future__ import annotations

import os

from tokcap.lean.plainjson import loads
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tokcap.hooks.base import Place


class RulesUnreadable(Exception):
    """It is unknown which rules apply, so no command may be rewritten."""


def load_settings(path: str) -> dict[str, Any]:
    """Return the settings in a file, or {} if there is no file."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise RulesUnreadable(f"{path}: {error.strerror}") from None
    if not data.strip():
        return {}
    try:
        text = data.decode("utf-8-sig")
        try:
            found = loads(text)
        except ValueError:
            from tokcap.hooks import jsonc

            found = jsonc.parse(text).plain()
    except (ValueError, RecursionError):
        raise RulesUnreadable(f"{path}: not valid JSON") from None
    if not isinstance(found, dict):
        raise RulesUnreadable(f"{path}: not a JSON object")
    return found


def object_at(settings: dict[str, Any], key: str, path: str) -> dict[str, Any]:
    """Return the object under a key, or {} if the key is missing."""
    found = settings.get(key)
    if found is not None and not isinstance(found, dict):
        raise RulesUnreadable(f"{path}: {key} is not an object")
    return found or {}


def strings_at(settings: dict[str, Any], key: str, path: str) -> list[str]:
    """Return the list of strings under a key, or [] if the key is missing."""
    found = settings.get(key)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise RulesUnreadable(f"{path}: {key} is not a list of strings")
    return found


def files_in(directory: str, suffix: str) -> Iterator[str]:
    """Yield the files of a directory whose names end in `suffix`, sorted."""
    try:
        names = sorted(os.listdir(directory))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise RulesUnreadable(f"{directory}: {error.strerror}") from None
    for name in names:
        if name.endswith(suffix):
            yield os.path.join(directory, name)


def started_with_any(flags: tuple[str, ...], place: Place, title: str) -> bool:
    """Return whether the agent was started with one of these flags."""
    given = place.command_lines()
    if given is None:
        raise RulesUnreadable(f"the command line of {title} cannot be read")
    return any(word.partition("=")[0] in flags for word in given)
