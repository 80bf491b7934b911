"""The ledger: whether its file is whole and ours, which sessions run, and what the dead still hold."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from tokcap.budget.database import Look
from tokcap.budget.holder import Holder, is_gone, this_process
from tokcap.budget.sqlite import FILE_NAME, STEPS
from tokcap.cli.values import decide
from tokcap.core.units import count_of
from tokcap.doctor.finding import Finding, note, ok, wrong
from tokcap.errors import LedgerError, UsageError
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment

PATIENCE_SECONDS = 2.0
# Every step of a session frees them first.
NEXT_STEP = "tokcap budget list"


def check(env: Environment) -> Iterator[Finding]:
    """The file itself, then what is in it."""
    path = os.path.join(env.data_dir(), FILE_NAME)
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        yield ok("ledger", "there is none; the first session makes it")
        yield from chosen_session(env, set())
        return
    move_away = f"mv {quoted(path)} {quoted(path + '.damaged')}"
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        what = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "no file of yours"
        yield wrong("ledger", f"{path} is {what}", move_away)
        return
    if not found.st_size:
        yield wrong("ledger", f"{path} is empty", move_away)
        return
    if stat.S_IMODE(found.st_mode) & 0o077:
        mode = stat.S_IMODE(found.st_mode)
        yield wrong("permissions", f"{mode:04o}: others can read the ledger", f"chmod 600 {quoted(path)}")
    try:
        look = Look(path, PATIENCE_SECONDS)
        try:
            yield from looked_into(look, path)
            running = {str(name) for (name,) in look.rows("SELECT name FROM sessions WHERE ended IS NULL")}
        finally:
            look.close()
    except LedgerError as error:
        if os.path.exists(path + "-journal") and "readonly" in str(error):
            message = "somebody was killed while writing to it; the next step of a session undoes that"
            yield note("ledger", message, NEXT_STEP)
        else:
            yield wrong("ledger", str(error), NEXT_STEP if "locked" in str(error) else move_away)
        return
    yield from chosen_session(env, running)


def looked_into(look: Look, path: str) -> Iterator[Finding]:
    """Its pages, its version, its rows."""
    look.check()
    ((version,),) = look.rows("PRAGMA user_version")
    if version > len(STEPS):
        message = f"{path} is of version {version}, and this tokcap knows {len(STEPS)}"
        yield wrong("ledger", message, "python3 -m pip install --upgrade tokcap")
        return
    if version < 1:
        raise LedgerError(f"{path} is no ledger of tokcap; move it away")
    older = "" if version == len(STEPS) else ", to be brought up to date by the next step of a session"
    yield ok("ledger", f"whole, version {version}{older}")
    ((running, ended),) = look.rows("SELECT count(*) - count(ended), count(ended) FROM sessions")
    yield ok("sessions", f"{running} running, {ended} ended")
    here = this_process()
    held = look.rows("SELECT tokens, pid, started, boot, namespace FROM reservations")
    dead = [tokens for tokens, *holder in held if is_gone(Holder(*holder), here)]
    if dead:
        holders = count_of(len(dead), "process", "processes")
        message = f"{holders} died with {sum(dead)} tokens reserved, which the next step of a session frees"
        yield note("reservations", message, NEXT_STEP)
    else:
        yield ok("reservations", f"{len(held)}, all of living processes" if held else "none")


def chosen_session(env: Environment, running: set[str]) -> Iterator[Finding]:
    """Whether the session that every call is to charge can be charged."""
    try:
        session = str(decide((), "run", env)["session"])
    except UsageError:
        # Told of the configuration.
        return
    if session and session not in running:
        remedy = f"tokcap budget start {quoted(session)} --total 100000"
        yield wrong("session", f"{session} does not run, so no command is run", remedy)
    elif session:
        yield ok("session", session)
