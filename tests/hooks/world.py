"""The world of the hook tests: directories of their own, and settings written as an agent's user would."""

from __future__ import annotations

import json
import os

from tokcap.hooks.base import Launch, Place

LAUNCH = Launch(path=os.environ["PATH"])


def place_in(directory, *, command_line=(), variables=None) -> Place:
    """A home, a project and a system of their own below a directory."""
    home, project, root = directory / "person", directory / "project", directory / "system"
    for path in (home, project, root):
        path.mkdir(exist_ok=True)
    line = None if command_line is None else list(command_line)
    return Place(str(home), str(project), variables or {}, str(root), command_lines=lambda: line)


def write(path: str, settings: object) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(settings if isinstance(settings, str) else json.dumps(settings))
