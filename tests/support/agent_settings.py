"""Directories for the tests of hooks, and settings files as users of an agent write them."""

from __future__ import annotations

import json
import os

from tokcap.hooks.base import Place


def place_in(directory, *, variables=None) -> Place:
    """Make a home and a project, and return the place they are."""
    home, project = directory / "person", directory / "project"
    for path in (home, project):
        path.mkdir(exist_ok=True)
    return Place(str(home), str(project), variables or {})


def write(path: str, settings: object) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(settings if isinstance(settings, str) else json.dumps(settings))
