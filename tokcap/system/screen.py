"""The width of the terminal that help and reports are shown on."""

from __future__ import annotations

import os

from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from tokcap.environment import Environment

# Nothing is made for less: a narrower terminal breaks the lines itself.
LEAST_COLUMNS = 80


class Screen(Record):
    """The default is for pipes and files, which have no width."""

    columns: int = LEAST_COLUMNS
    is_terminal: bool = False

    def wrapped(self, text: str, indent: str = "") -> list[str]:
        """Return a line, broken between words if it is too long for the terminal."""
        if not self.is_terminal or len(text) <= self.columns:
            return [text]
        import textwrap

        # A word that is too long is a path or a command, which has to stay whole to be copied.
        return textwrap.wrap(
            text, self.columns, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
        )


def screen_of(env: Environment, descriptor: int) -> Screen:
    """Return the screen that a descriptor writes to."""
    if not env.is_terminal(descriptor):
        return Screen()
    return Screen(max(columns_of(descriptor), LEAST_COLUMNS), is_terminal=True)


def columns_of(terminal: int) -> int:
    """Return the width of a terminal."""
    try:
        return os.get_terminal_size(terminal).columns or LEAST_COLUMNS
    except OSError:
        return LEAST_COLUMNS
