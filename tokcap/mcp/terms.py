"""What a server allows, whatever a call asks for; and the session that all its answers are charged to."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tokcap.api.sessions import open_session
from tokcap.budget import open_ledger
from tokcap.budget.base import SessionView
from tokcap.errors import TokcapError
from tokcap.lean.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.budget.arithmetic import Account
    from tokcap.environment import Environment

# Of an answer, where nobody has said anything else.
DEFAULT_LIMIT_TOKENS = 4000


class Session(Record):
    """A session of the ledger, by its name and by its account."""

    name: str
    storage: SessionView

    def read(self) -> Account:
        return self.storage.read()

    def pay(self, tokens: int) -> bool:
        """Charge a few tokens more, if they are left; whether that was done."""
        try:
            grant = self.storage.reserve(tokens)
            if grant.tokens is not None and grant.tokens < tokens:
                self.storage.release(grant)
                return False
            self.storage.settle(grant, tokens)
        except TokcapError:
            return False
        return True


class Terms(Record):
    """What holds for every call."""

    # No answer has more, whatever limit a call names.
    limit_tokens: int
    tokenizer: str
    clean: bool
    redact: bool
    max_bytes: int
    session: Session | None = None

    def limit(self, asked: int | None) -> int:
        """The limit of one call."""
        return self.limit_tokens if asked is None else min(asked, self.limit_tokens)

    @property
    def session_name(self) -> str:
        return self.session.name if self.session else ""


@contextmanager
def open_server_session(name: str, total: int | None, env: Environment) -> Iterator[Session | None]:
    """The session of a server for as long as it runs; None if there is neither a name nor a total.

    A named one has to run already, or gets its total here, and stays. Without a name it ends with the server.
    """
    if not name and total is None:
        yield None
        return
    ledger = open_ledger(env)
    if total is None:
        # A name that was never started must not pass for a budget without limit.
        ledger.read(name)
    is_own = not name
    name = name or f"mcp-{os.urandom(4).hex()}"
    try:
        with open_session(name, total=total):
            yield Session(name, SessionView(ledger, name))
    finally:
        if is_own and ledger.has(name):
            ledger.end(name)
