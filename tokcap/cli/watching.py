"""`tokcap budget watch`: sessions and who holds what, redrawn in place on a terminal.

`look` takes the state of a ledger, `View` writes it in lines, `Watch` keeps it on the screen.
"""

from __future__ import annotations

import time

from tokcap import exits
from tokcap.cli.session_status import account_numbers, bar_of, in_tree_order, narrow_bar_of
from tokcap.core.units import age_of, count_of, printable
from tokcap.errors import NotFound, TokcapError
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.system.full_screen import FullScreen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.budget.base import SessionStore
    from tokcap.budget.reports import Holding, Session
    from tokcap.environment import Environment

QUIT_KEYS = b"qQ\x03\x04"


class View(Record):
    """The state of a ledger: sessions with their depth, and reservations."""

    sessions: Sequence[tuple[int, Session]]
    holdings: Sequence[Holding]

    def as_json(self) -> dict[str, object]:
        """Return the state for programs."""
        return {
            "sessions": [
                {"session": each.name, "depth": depth, **account_numbers(each.account)}
                for depth, each in self.sessions
            ],
            "held": [{**vars(held), "age_seconds": round(held.age_seconds, 3)} for held in self.holdings],
        }

    def lines(self, columns: int) -> list[str]:
        """Return the state in lines that fit into so many columns."""
        held = count_of(sum(each.tokens for each in self.holdings), "token")
        sessions, commands = (
            count_of(len(self.sessions), "session"),
            count_of(len(self.holdings), "command"),
        )
        lines = [f"{sessions}, {held} reserved by {commands}", ""]
        names = ["  " * depth + each.name for depth, each in self.sessions]
        width = min(max(map(len, names), default=0), columns // 3)
        for name, (_, each) in zip(names, self.sessions, strict=True):
            shown = printable(name, width).ljust(width)
            wide = f"{shown}  {bar_of(each.account)}"
            narrow = f"{shown}  {narrow_bar_of(each.account, columns - width - 2)}"
            lines.append(wide if len(wide) <= columns else narrow)
            indent = " " * (len(name) - len(name.lstrip()) + 4)
            lines += [indent + holding_text(held) for held in self.holdings if held.session == each.name]
        return [printable(line, columns) for line in lines]


def holding_text(held: Holding) -> str:
    """Return one reservation: `build-7:4312  500 tokens, 64 written, 12s`."""
    tokens = count_of(held.tokens, "token") if held.tokens else "no limit"
    written = f", {held.announced:,} written" if held.announced else ""
    return f"{held.holder or 'unknown'}  {tokens}{written}, {age_of(held.age_seconds)}"


def look(ledger: SessionStore, name: str | None) -> View:
    """Take the state of a ledger, or of one session with all that is a part of it."""
    sessions = in_tree_order(ledger.list())
    if name is not None:
        sessions = [
            (depth, each)
            for depth, each in sessions
            if name == each.name or name in (above for above, _ in each.account.above)
        ]
        if not sessions:
            raise NotFound(f"there is no session {name!r}; list them: tokcap budget list")
        least = sessions[0][0]
        sessions = [(depth - least, each) for depth, each in sessions]
    names = {each.name for _, each in sessions}
    return View(sessions, [held for held in ledger.held() if held.session in names])


class Watch:
    """The state of a ledger on a whole terminal, taken again after some seconds."""

    def __init__(
        self, env: Environment, ledger: SessionStore, name: str | None, every_seconds: float
    ) -> None:
        self._env = env
        self._ledger = ledger
        self._name = name
        self._every_seconds = every_seconds

    def run(self, view: View) -> int:
        """Show the state until a key ends it; return the exit status."""
        problem = ""
        with FullScreen(self._env.stdin, self._env.stdout) as screen:
            due = time.monotonic() + self._every_seconds
            while True:
                screen.draw(self._page(view, problem, screen))
                key = screen.wait(max(due - time.monotonic(), 0.0))
                if key and key in QUIT_KEYS:
                    return exits.OK
                if time.monotonic() < due:
                    # A key without a meaning, or another size.
                    continue
                due = time.monotonic() + self._every_seconds
                try:
                    view, problem = look(self._ledger, self._name), ""
                except TokcapError as error:
                    # The server may be back the next time.
                    problem = str(error)

    def _page(self, view: View, problem: str, screen: FullScreen) -> list[str]:
        """Return the lines of the screen: those that do not fit are counted."""
        rows, columns = screen.size()
        lines = view.lines(columns)
        lines[0] = printable(f"{time.strftime('%H:%M:%S')}  {lines[0]}  (q: quit)", columns)
        if problem:
            import textwrap

            lines[1:1] = ["", *textwrap.wrap(printable(problem, len(problem)), columns)]
        if len(lines) > rows:
            hidden = len(lines) - rows + 1
            lines = [*lines[: rows - 1], printable(f"… {count_of(hidden, 'more line')}", columns)]
        return lines
