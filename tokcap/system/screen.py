"""The terminal that a text for people is shown on: how wide it is, and whether it has colours."""

from __future__ import annotations

import os

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from tokcap.environment import Environment

DEFAULT_COLUMNS = 80
FEWEST_COLUMNS = 40


class Screen(Record):
    """Where nobody looks, in a pipe or a file, it is 80 columns wide and without colours."""

    columns: int = DEFAULT_COLUMNS
    colours: bool = False

    def heading(self, text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if self.colours else text

    def flag(self, text: str) -> str:
        return f"\x1b[36m{text}\x1b[0m" if self.colours else text


def screen_of(env: Environment, descriptor: int) -> Screen:
    """The screen behind a descriptor."""
    if descriptor in env.closed or not os.isatty(descriptor):
        return Screen()
    try:
        columns = os.get_terminal_size(descriptor).columns or DEFAULT_COLUMNS
    except OSError:
        columns = DEFAULT_COLUMNS
    plain = bool(env.variables.get("NO_COLOR")) or env.variables.get("TERM", "dumb") == "dumb"
    return Screen(max(columns, FEWEST_COLUMNS), not plain)
