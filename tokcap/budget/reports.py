"""What a ledger answers besides accounts and grants: lists for people, and what steps found.

Most calls of a session need none of these.
"""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokcap.budget.arithmetic import Account

# The most rows that a ledger returns.
MOST_LISTED = 1000


class Session(Record):
    """A session in a list."""

    name: str
    # Seconds since 1970, for people. Nothing is decided by it.
    created: float
    account: Account


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


class Recorded(Record):
    """Whether tokens were counted (their key was new), and the account afterwards."""

    counted: bool
    account: Account


class Shown(Record):
    """What the model was shown in its present context, as far as it was asked for."""

    # Names the context. It changes when the session is compacted or reset.
    context: str
    # Handles by key. A key that was not noted is missing.
    handles: Mapping[str, str]
