"""What sessions have used, period by period: rows for programs, a table for people."""

from __future__ import annotations

from tokcap.cli.moments import utc_time
from tokcap.core.units import printable
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.budget.base import SessionStore
    from tokcap.system.screen import Screen

RUNNING = "running"
LONGEST_NAME = 30


class Period(Record):
    """A period of a session, over or not."""

    session: str
    began: float
    # None: it is the present one.
    ended: float | None
    total: int | None
    used: int
    how: str

    def as_json(self) -> dict[str, object]:
        ended = None if self.ended is None else int(self.ended)
        return {**vars(self), "began": int(self.began), "ended": ended}


def periods_of(ledger: SessionStore, name: str | None) -> list[Period]:
    """Return all periods of one session or of all, the oldest first; those that still run come last."""
    past = [Period(**vars(each)) for each in ledger.history(name)]
    running = [
        Period(
            session=each.name,
            began=each.created if each.account.period_began is None else each.account.period_began,
            ended=None,
            total=each.account.total,
            used=each.account.used,
            how=RUNNING,
        )
        for each in ledger.list()
        if name in (None, each.name)
    ]
    return [*past, *running]


def history_text(rows: Sequence[Period], screen: Screen) -> str:
    """Return a table: session, beginning and end in UTC, what was used of how much, and how it ended."""
    table = [
        (
            printable(row.session, LONGEST_NAME),
            minute_of(row.began),
            "now" if row.ended is None else minute_of(row.ended),
            f"{row.used} of {row.total}" if row.total is not None else str(row.used),
            row.how,
        )
        for row in rows
    ]
    heading = ("session", "from (UTC)", "to (UTC)", "tokens", "")
    lines = laid_out([heading, *table])
    if not screen.fits(lines):
        # The day is enough on a narrow terminal, and how it ended can be left out.
        short = [(name, began[:10], ended[:10], used) for name, began, ended, used, _ in table]
        lines = laid_out([("session", "from", "to", "tokens"), *short])
    return "".join(f"{line}\n" for line in lines)


def laid_out(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def minute_of(seconds: float) -> str:
    return utc_time(seconds, "%Y-%m-%d %H:%M")
