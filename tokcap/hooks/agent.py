"""What the core knows of an agent, and what an agent's module may look at."""

from __future__ import annotations

import os

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from tokcap.hooks.rewrite import Launch


class Place(Record):
    """Where settings and rules are looked for. A test hands in its own."""

    home: str
    project: str
    variables: Mapping[str, str]
    root: str = "/"
    # All words of the command lines of the processes above; None if they cannot be seen.
    command_lines: Callable[[], list[str] | None] = list

    def at_root(self, *parts: str) -> str:
        return os.path.join(self.root, *parts)


class Agent(Record):
    """An agent whose documented hook can rewrite a shell command."""

    name: str
    title: str
    # What is true of it while the hook is installed, in one line.
    effect: str
    # The key below "hooks", and the matcher and time limit of our entry.
    event: str
    matcher: str
    timeout: int
    # Where it tells its hooks which project they are in. Without it the project's rules are not known.
    project_variable: str
    user_settings: Callable[[Place], str]
    project_settings: Callable[[Place], str]
    # The answer to one event; None: nothing to say.
    answer: Callable[[dict[str, Any], Launch, Place], dict[str, Any] | None]
    # Why the hook must not be installed, one line each; empty: it may.
    objections: Callable[[Place], list[str]]
    # What is printed where there is nothing to say.
    silence: bytes = b""

    def entry(self, command: str) -> dict[str, object]:
        """Our entry in the agent's settings."""
        hook = {"type": "command", "command": command, "timeout": self.timeout}
        return {"matcher": self.matcher, "hooks": [hook]}


class Doubt(Exception):
    """Something that decides whether a rewrite is safe could not be read. The command stays as it is."""


def load_settings(path: str) -> dict[str, Any]:
    """The settings in a file; none if there is no file. `Doubt` if it cannot be read or understood."""
    import json

    try:
        with open(path, "rb") as file:
            data = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise Doubt(f"{path}: {error.strerror}") from None
    if not data.strip():
        return {}
    try:
        text = data.decode("utf-8-sig")
        try:
            found = json.loads(text)
        except ValueError:
            from tokcap.hooks import jsonc

            found = jsonc.parse(text).plain()
    except (ValueError, RecursionError):
        raise Doubt(f"{path}: is no JSON") from None
    if not isinstance(found, dict):
        raise Doubt(f"{path}: is no JSON object")
    return found


def table(value: dict[str, Any], key: str, path: str) -> dict[str, Any]:
    """A table inside settings; `Doubt` if something else stands there."""
    found = value.get(key)
    if found is not None and not isinstance(found, dict):
        raise Doubt(f"{path}: {key} is no object")
    return found or {}


def words(value: dict[str, Any], key: str, path: str) -> list[str]:
    """A list of words inside settings; `Doubt` if something else stands there."""
    found = value.get(key)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(word, str) for word in found):
        raise Doubt(f"{path}: {key} is no list of words")
    return found


def files_in(directory: str, suffix: str) -> Iterator[str]:
    """Files with that ending, in order; `Doubt` if the directory cannot be looked into."""
    try:
        names = sorted(os.listdir(directory))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise Doubt(f"{directory}: {error.strerror}") from None
    for name in names:
        if name.endswith(suffix):
            yield os.path.join(directory, name)
