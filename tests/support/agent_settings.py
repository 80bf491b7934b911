"""Directories for the tests of hooks, and settings files as users of an agent write them."""

from __future__ import annotations

import json
import os

from tokcap.hooks.base import Launch, Place

LAUNCH = Launch(path=os.environ["PATH"])


def place_in(directory, *, command_line=(), variables=None) -> Place:
    """Make a home, a project and a system directory, and return the place they are."""
    home, project, root = directory / "person", directory / "project", directory / "system"
    for path in (home, project, root):
        path.mkdir(exist_ok=True)
    line = None if command_line is None else list(command_line)
    return Place(str(home), str(project), variables or {}, str(root), command_lines=lambda: line)


def write(path: str, settings: object) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(settings if isinstance(settings, str) else json.dumps(settings))
