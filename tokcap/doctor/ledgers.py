"""Check the ledger: whether it can be used, and whether the session of every call exists."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tokcap.budget import FILE_VARIABLE, VARIABLE, exposed_file, ledger_url, open_ledger, scheme_of
from tokcap.budget.server import OUTBOX, all_waiting
from tokcap.cli.arguments import decide
from tokcap.cli.reply import with_ledger
from tokcap.core.units import count_of
from tokcap.doctor.examination import Finding, fact, note, wrong
from tokcap.errors import LedgerError, UsageError
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment

PATIENCE_SECONDS = 2.0
EMBEDDED = "sqlite"
FILE_NAME = "ledger.db"


def check(env: Environment) -> Iterator[Finding]:
    """Check what waits to be charged, the ledger, then the session that calls are charged to."""
    plain = env
    try:
        env = with_ledger(env)
    except UsageError:
        # The check of the configuration reports it.
        pass
    try:
        is_embedded = scheme_of(ledger_url(env)) == EMBEDDED
        exposed = exposed_file(plain, *(env.variables.get(name, "") for name in (VARIABLE, FILE_VARIABLE)))
    except UsageError as error:
        yield wrong("ledger", str(error), "unset TOKCAP_LEDGER TOKCAP_LEDGER_FILE")
        return
    if exposed:
        yield wrong(
            "ledger", f"other users can read its password in {exposed}", f"chmod 600 {quoted(exposed)}"
        )
    yield from check_outbox(env)
    path = os.path.join(env.data_dir(), FILE_NAME)
    sessions: set[str] = set()
    # The first session creates the file. Until then there is nothing to open.
    if not is_embedded or os.path.lexists(path):
        try:
            sessions = {session.name for session in open_ledger(env, PATIENCE_SECONDS).list()}
        except LedgerError as error:
            move_away = f"mv {quoted(path)} {quoted(path + '.damaged')}"
            can_move = is_embedded and "locked" not in str(error)
            yield wrong("ledger", str(error), move_away if can_move else "tokcap budget list")
            return
        yield fact("ledger", f"{count_of(len(sessions), 'session')} running")
    yield from check_session(env, sessions)


def check_outbox(env: Environment) -> Iterator[Finding]:
    """Report what waits to be charged because a server could not be reached."""
    waiting = all_waiting(env.data_dir())
    if not waiting:
        return
    tokens, calls = sum(entry.tokens for entry in waiting), count_of(len(waiting), "call", "calls")
    where = ", ".join(sorted({entry.ledger.partition(" ")[0] for entry in waiting}))
    message = f"{tokens} tokens of {calls} wait for {where}"
    if any(entry.is_too_old for entry in waiting):
        place = quoted(os.path.join(env.data_dir(), OUTBOX))
        yield wrong("outbox", f"{message}, some too long to be charged", f"rm -r {place}")
    else:
        yield note("outbox", message, "tokcap budget list")


def check_session(env: Environment, sessions: set[str]) -> Iterator[Finding]:
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
