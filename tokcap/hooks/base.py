"""The protocol of an agent, and the records that are passed to it.

This module is loaded before every command of an agent, so it must not import anything slow.
"""

from __future__ import annotations

import os

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


class Place(Record):
    """The directories and variables that decide which settings and rules apply. Tests pass their own."""

    home: str
    project: str
    variables: Mapping[str, str]
    root: str = "/"
    # Return all words of the command lines of the ancestor processes, or None if they cannot be read.
    command_lines: Callable[[], list[str] | None] = list

    def at_root(self, *parts: str) -> str:
        """Return the path of a system-wide file."""
        return os.path.join(self.root, *parts)


class Launch(Record):
    """How tokcap is called on behalf of an agent."""

    program: str = "tokcap"
    options: tuple[str, ...] = ()
    # The shell that the agent uses. If it is unknown (empty), only syntax common to all shells is rewritten.
    shell: str = ""
    # The PATH of the agent's shell.
    path: str = os.defpath
    # Whether the agent's next command starts in the directory in which this one ends.
    keeps_directory: bool = False


class Installation(Record):
    """What an installed hook calls: the program, and the options given to `tokcap hook install`."""

    program: str
    options: tuple[str, ...] = ()


class Agent:
    """A coding agent that tokcap supports.

    How tokcap reaches the agent's commands (by rewriting them, as the agent's shell, by replacing results)
    is decided by the agent's class. Callers see only that something is installed in a settings file, and
    that the agent may send events to `tokcap hook run NAME`.
    """

    name: str
    # The name that people use.
    title: str
    # What the hook does while it is installed, in one line.
    effect: str
    # The variable in which the agent gives its hooks the project directory. Events without it are not
    # answered, because the project's rules are unknown.
    project_variable: str
    # What to print if an event needs no answer.
    no_answer: bytes = b""

    def user_settings(self, place: Place) -> str:
        """Return the path of the user's settings file."""
        raise NotImplementedError

    def project_settings(self, place: Place) -> str:
        """Return the path of the project's settings file."""
        raise NotImplementedError

    def is_present(self, place: Place) -> bool:
        """Return whether the agent has been used on this machine."""
        return os.path.isdir(os.path.dirname(self.user_settings(place)))

    def objections(self, place: Place) -> list[str]:
        """Return why the hook must not be installed here, one line per reason."""
        raise NotImplementedError

    def installation(self, path: str) -> Installation | None:
        """Return what is installed in a settings file; `HookRefused` if the file cannot be read."""
        raise NotImplementedError

    def install(self, path: str, wanted: Installation) -> bool:
        """Install the hook in a settings file; return False if the same hook is installed already."""
        raise NotImplementedError

    def remove(self, path: str) -> bool:
        """Remove the hook from a settings file; return False if there is none."""
        raise NotImplementedError

    def printed(self, wanted: Installation) -> str:
        """Return a settings file that contains only the hook."""
        raise NotImplementedError

    def answer(self, event: dict[str, Any], launch: Launch, place: Place) -> dict[str, Any] | None:
        """Return the answer to an event, or None if the agent should continue unchanged.

        Any exception counts as None.
        """
        raise NotImplementedError
