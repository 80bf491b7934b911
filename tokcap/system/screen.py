"""The terminal that help and reports are shown on: its width, and whether it shows colours."""

from __future__ import annotations

import os

from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokcap.environment import Environment

DEFAULT_COLUMNS = 80
MIN_COLUMNS = 40


class Screen(Record):
    """Width and colours. The defaults are for pipes and files."""

    columns: int = DEFAULT_COLUMNS
    colours: bool = False
    is_terminal: bool = False

    def fits(self, lines: Iterable[str]) -> bool:
        """Return whether no line wraps. Files and pipes have no width."""
        return not self.is_terminal or all(len(line) <= self.columns for line in lines)

    def wrapped(self, text: str, indent: str = "") -> list[str]:
        """Return a line, broken between words if it is too long for the terminal."""
        if self.fits([text]):
            return [text]
        import textwrap

        # A word that is too long is a path or a command, which has to stay whole to be copied.
        return textwrap.wrap(
            text, self.columns, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
        )

    def heading(self, text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if self.colours else text

    def flag(self, text: str) -> str:
        return f"\x1b[36m{text}\x1b[0m" if self.colours else text


def screen_of(env: Environment, descriptor: int) -> Screen:
    """Return the screen that a descriptor writes to."""
    if not env.is_terminal(descriptor):
        return Screen()
    plain = bool(env.variables.get("NO_COLOR")) or env.variables.get("TERM", "dumb") == "dumb"
    return Screen(max(columns_of(descriptor), MIN_COLUMNS), not plain, is_terminal=True)


def columns_of(terminal: int) -> int:
    """Return the width of a terminal."""
    try:
        return os.get_terminal_size(terminal).columns or DEFAULT_COLUMNS
    except OSError:
        return DEFAULT_COLUMNS
