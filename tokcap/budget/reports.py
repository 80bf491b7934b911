"""What a ledger can list for people: who holds tokens now, and the periods that are over."""

from __future__ import annotations

from tokcap.lean.record import Record

# The most rows that a ledger returns.
MOST_LISTED = 1000


class Holding(Record):
    """Tokens that a process has reserved."""

    session: str
    # 0 if nothing limits the answer.
    tokens: int
    announced: int
    # `HOST:PID`, as the process said when it reserved the tokens; empty if it did not say it.
    holder: str
    age_seconds: float


class Past(Record):
    """A period of a session that is over, or the whole of a session without periods."""

    session: str
    # Seconds since 1970.
    began: float
    ended: float
    total: int | None
    used: int
    # How it ended: `renewed`, `reset` or `ended`.
    how: str
