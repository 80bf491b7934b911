"""What sessions on a server have used, by all hosts: the usage log of a host knows only its own calls."""

from __future__ import annotations

from tokcap.budget import open_ledger
from tokcap.cli.ledger import with_ledger
from tokcap.cli.moments import local_time
from tokcap.cli.session_history import laid_out, periods_of
from tokcap.core.units import printable
from tokcap.errors import TokcapError
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.environment import Environment

LONGEST_NAME = 40
HEADING = "counted by the ledger, for all hosts:"


class SessionUse(Record):
    """What all hosts have used of one session, in some periods."""

    session: str
    used: int
    periods: int

    def as_json(self) -> dict[str, object]:
        return {"session": self.session, "used_by_all_hosts": self.used, "periods": self.periods}


def sessions_of_all_hosts(env: Environment, first_day: str) -> tuple[list[SessionUse], str]:
    """Return what each session has used since a day, the most first, and why that is unknown, if it is.

    Nothing is returned for a ledger on this machine: then the usage log has it all.
    """
    try:
        ledger = open_ledger(with_ledger(env))
        if ledger.lease_seconds is None:
            return [], ""
        found: dict[str, SessionUse] = {}
        for period in periods_of(ledger, None):
            if period.ended is not None and day_of(period.ended) < first_day:
                continue
            before = found.get(period.session, SessionUse(period.session, 0, 0))
            found[period.session] = before.but(used=before.used + period.used, periods=before.periods + 1)
    except TokcapError as error:
        return [], str(error)
    return sorted(found.values(), key=lambda use: (-use.used, use.session)), ""


def day_of(seconds: float) -> str:
    return local_time(seconds, "%Y-%m-%d")


def uses_text(uses: Sequence[SessionUse]) -> str:
    """Return a table for people; nothing if there are no sessions."""
    if not uses:
        return ""
    rows = [(printable(use.session, LONGEST_NAME), f"{use.used:,}", f"{use.periods:,}") for use in uses]
    return "".join(f"{line}\n" for line in (HEADING, *laid_out([("SESSION", "USED", "PERIODS"), *rows])))
