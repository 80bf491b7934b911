"""Rows of sessions that have others above them, or are renewed. Other sessions never load this module.

All functions work inside a transaction of the SQLite ledger.
"""

from __future__ import annotations

from tokcap.budget.periods import period_end, period_start
from tokcap.budget.reports import MOST_LISTED, Holding, Past
from tokcap.budget.trees import orphan
from tokcap.errors import LedgerError
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.budget.arithmetic import Account
    from tokcap.budget.tables import CountedEvent, LedgerTransaction


def ids_above(rows: LedgerTransaction, name: str, parent: str) -> tuple[int, ...]:
    """Return the ids of the sessions above one, the nearest first."""
    found: list[int] = []
    above: str | None = parent
    while above is not None:
        row = rows.rows("SELECT id, parent FROM sessions WHERE name = ? AND ended IS NULL", above)
        if not row or row[0][0] in found:
            raise orphan(name, above)
        found.append(row[0][0])
        name, above = above, row[0][1]
    return tuple(found)


def with_above(rows: LedgerTransaction, account: Account, above: Sequence[int]) -> Account:
    """Return an account with those above it."""
    if not above:
        return account
    accounts = [(name_of(rows, each), rows.account(each).as_ancestor()) for each in above]
    return account.but(above=tuple(accounts))


def name_of(rows: LedgerTransaction, session: int) -> str:
    return str(rows.rows("SELECT name FROM sessions WHERE id = ?", session)[0][0])


def names_below(rows: LedgerTransaction, name: str) -> list[str]:
    """Return the names of all sessions below one."""
    found = [name]
    for above in found:
        below = rows.rows("SELECT name FROM sessions WHERE parent = ? AND ended IS NULL ORDER BY id", above)
        found += [each for (each,) in below if each not in found]
    return found[1:]


def hold_above(rows: LedgerTransaction, above: Sequence[int], tokens: int) -> str:
    """Reserve tokens in the sessions above, or free them if they are less than 0; return the ids as text."""
    for each in above:
        rows.run("UPDATE sessions SET reserved_below = reserved_below + ? WHERE id = ?", tokens, each)
    return " ".join(map(str, above))


def use_above(rows: LedgerTransaction, above: Sequence[int], tokens: int) -> None:
    """Count tokens in the present periods of the sessions above."""
    for each in above:
        rows.account(each)
        rows.run("UPDATE sessions SET used = used + ? WHERE id = ?", tokens, each)


def begin_period(
    rows: LedgerTransaction, session: int, renew: str, began: float, used: int
) -> tuple[float, int]:
    """Begin a new period if the present one is over; return when it began, and what is used in it."""
    start = period_start(renew, rows.now())
    if start <= began:
        return began, used
    rows.run(
        """INSERT INTO periods (session, period, name, began, ended, total, used)
        SELECT id, period, name, period_began, ?, total, used FROM sessions WHERE id = ?""",
        period_end(renew, began),
        session,
    )
    rows.run(
        "UPDATE sessions SET used = 0, period = period + 1, period_began = ? WHERE id = ?", start, session
    )
    return start, 0


def counted_in_periods(rows: LedgerTransaction, sessions: Sequence[int]) -> str:
    """Return the sessions with their present periods, as text."""
    periods = [rows.rows("SELECT period FROM sessions WHERE id = ?", each)[0][0] for each in sessions]
    return " ".join(f"{session}.{period}" for session, period in zip(sessions, periods, strict=True))


def correct_periods(rows: LedgerTransaction, event: CountedEvent, tokens: int) -> Account:
    """Replace what was counted for an event, in the periods in which it was counted."""
    more = tokens - event.tokens
    places = [read_ids(place.replace(".", " ")) for place in str(event.counted_in).split()]
    for session, period in places:
        rows.account(session)
        rows.run("UPDATE sessions SET used = used + ? WHERE id = ? AND period = ?", more, session, period)
        rows.run("UPDATE periods SET used = used + ? WHERE session = ? AND period = ?", more, session, period)
    rows.run(
        "UPDATE sessions SET window_used = max(window_used - ?, 0) + ? WHERE id = ?",
        event.tokens,
        tokens,
        event.session,
    )
    return with_above(rows, rows.account(event.session), [session for session, _ in places[1:]])


def read_ids(text: str) -> tuple[int, ...]:
    """Return the numbers of a column."""
    try:
        return tuple([int(word) for word in text.split()])
    except (ValueError, AttributeError):
        raise LedgerError("the ledger is damaged: a reservation is invalid; move the file away") from None


def holdings(rows: LedgerTransaction) -> list[Holding]:
    """Return who holds reserved tokens, the oldest first."""
    found = rows.rows(
        """SELECT name, tokens, announced, holder, since FROM reservations
        JOIN sessions ON sessions.id = session ORDER BY since LIMIT ?""",
        MOST_LISTED,
    )
    return [
        Holding(name, tokens, announced, holder, max(rows.now() - since, 0.0))
        for name, tokens, announced, holder, since in found
    ]


def past_periods(rows: LedgerTransaction, name: str | None) -> list[Past]:
    """Return what is over, the oldest first."""
    found = rows.rows(
        """SELECT * FROM (
            SELECT name, coalesce(period_began, created), ended, total, used, ended_how
            FROM sessions WHERE ended IS NOT NULL
            UNION ALL SELECT name, began, ended, total, used, 'renewed' FROM periods)
        WHERE coalesce(?, name) = name ORDER BY 3 DESC, 2 DESC LIMIT ?""",
        name,
        MOST_LISTED,
    )
    return [Past(*row) for row in reversed(found)]
