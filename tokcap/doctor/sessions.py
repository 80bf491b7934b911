"""Check the ledger: whether it can be used, which sessions exist, and whether calls can be charged."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tokcap.budget import ledger_url, open_ledger, scheme_of
from tokcap.budget.outbox import DIRECTORY, all_waiting
from tokcap.cli.ledger import with_ledger
from tokcap.cli.values import decide
from tokcap.core.units import count_of
from tokcap.doctor.finding import Finding, note, ok, wrong
from tokcap.errors import TokcapError, UsageError
from tokcap.lean.table import Table
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from typing import TypeAlias

    from tokcap.environment import Environment

    # Gives findings, and returns the names of the sessions; None if the ledger cannot be used.
    LedgerCheck: TypeAlias = Callable[[Environment], Generator[Finding, None, set[str] | None]]

PATIENCE_SECONDS = 2.0

# Ledgers that have more to examine than their list of sessions, by the scheme of their URL.
CHECKS: Table[LedgerCheck] = Table(sqlite="tokcap.doctor.ledger_file:check_file")


def check(env: Environment) -> Iterator[Finding]:
    """Check the ledger, then the session that calls are charged to."""
    try:
        env = with_ledger(env)
    except UsageError:
        # The check of the configuration reports it.
        pass
    try:
        scheme = scheme_of(ledger_url(env))
    except UsageError as error:
        yield wrong("ledger", str(error), "unset TOKCAP_LEDGER TOKCAP_LEDGER_FILE")
        return
    yield from check_outbox(env)
    check_ledger: LedgerCheck = check_list
    if scheme in CHECKS:
        check_ledger = CHECKS[scheme]
    sessions = yield from check_ledger(env)
    if sessions is not None:
        yield from chosen_session(env, sessions)


def check_outbox(env: Environment) -> Iterator[Finding]:
    """Report what waits to be charged because a server was away."""
    waiting = all_waiting(env.data_dir())
    if not waiting:
        return
    tokens, calls = sum(entry.tokens for entry in waiting), count_of(len(waiting), "call", "calls")
    where = ", ".join(sorted({entry.ledger.partition(" ")[0] for entry in waiting}))
    if any(entry.is_too_old for entry in waiting):
        place = quoted(os.path.join(env.data_dir(), DIRECTORY))
        message = f"{tokens} tokens of {calls} wait for {where}, some too long to be charged"
        yield wrong("outbox", message, f"rm -r {place}")
    else:
        yield note("outbox", f"{tokens} tokens of {calls} wait for {where}", "tokcap budget list")


def check_list(env: Environment) -> Generator[Finding, None, set[str] | None]:
    """List the sessions of any ledger."""
    try:
        sessions = open_ledger(env, PATIENCE_SECONDS).list()
    except TokcapError as error:
        yield wrong("ledger", str(error), "tokcap budget list")
        return None
    yield ok("sessions", f"{len(sessions)} running")
    return {session.name for session in sessions}


def chosen_session(env: Environment, sessions: set[str]) -> Iterator[Finding]:
    """Check that the session of every call exists."""
    try:
        session = str(decide((), "run", env)["session"])
    except UsageError:
        # The check of the configuration reports it.
        return
    if session and session not in sessions:
        remedy = f"tokcap budget start {quoted(session)} --total 100000"
        message = f"session {session!r} has not been started, so every command is refused"
        yield wrong("session", message, remedy)
    elif session:
        yield ok("session", session)
