"""The terminal that help and reports are shown on: its width, and whether it shows colours."""

from __future__ import annotations

import os

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from tokcap.environment import Environment

DEFAULT_COLUMNS = 80
MIN_COLUMNS = 40


class Screen(Record):
    """Width and colours. The defaults are for pipes and files."""

    columns: int = DEFAULT_COLUMNS
    colours: bool = False

    def heading(self, text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if self.colours else text

    def flag(self, text: str) -> str:
        return f"\x1b[36m{text}\x1b[0m" if self.colours else text


def screen_of(env: Environment, descriptor: int) -> Screen:
    """Return the screen that a descriptor writes to."""
    if descriptor in env.closed or not os.isatty(descriptor):
        return Screen()
    try:
        columns = os.get_terminal_size(descriptor).columns or DEFAULT_COLUMNS
    except OSError:
        columns = DEFAULT_COLUMNS
    plain = bool(env.variables.get("NO_COLOR")) or env.variables.get("TERM", "dumb") == "dumb"
    return Screen(max(columns, MIN_COLUMNS), not plain)
