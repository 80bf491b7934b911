"""The settings of a server, which no call can exceed, and the session that its results are charged to."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypedDict

from tokcap.api.sessions import open_session
from tokcap.budget import open_ledger
from tokcap.budget.base import SessionView
from tokcap.errors import TokcapError
from tokcap.lean.record import Record
from tokcap.steps.refusing import UNCHARGED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.budget.arithmetic import Account
    from tokcap.environment import Environment

# The limit of one result, unless the user sets another.
DEFAULT_LIMIT_TOKENS = 4000


class ChargedSession(Record):
    """The session that the results of a server are charged to."""

    name: str
    storage: SessionView

    def read(self) -> Account:
        return self.storage.read()

    def charge_error(self, error: TokcapError, tokens: int) -> None:
        """Charge the answer to a call that failed, unless the session itself refused the call."""
        if isinstance(error, UNCHARGED):
            return
        try:
            self.storage.settle(None, tokens, "refusal")
        except TokcapError:
            # The session has ended, or its ledger cannot be used. The error is still told.
            pass

    def pay(self, tokens: int) -> bool:
        """Charge `tokens` if that many are left. Return whether they were charged."""
        try:
            grant = self.storage.reserve(tokens)
            if grant.tokens is not None and grant.tokens < tokens:
                self.storage.release(grant)
                return False
            self.storage.settle(grant, tokens)
        except TokcapError:
            return False
        return True


class ChargeOptions(TypedDict):
    """The options of a library call that say how its result is counted and charged."""

    session: str | None
    tokenizer: str


class ServerSettings(Record):
    """The settings that apply to every call."""

    # The maximum for one result. A call can only request less.
    limit_tokens: int
    tokenizer: str
    clean: bool
    redact: bool
    max_bytes: int
    session: ChargedSession | None = None

    def allowed_tokens(self, requested: int | None) -> int:
        """Return the limit of one call."""
        return self.limit_tokens if requested is None else min(requested, self.limit_tokens)

    def charge_options(self) -> ChargeOptions:
        """Return the options that every call of the library gets."""
        return {"session": self.session.name if self.session else None, "tokenizer": self.tokenizer}


@contextmanager
def open_server_session(name: str, total: int | None, env: Environment) -> Iterator[ChargedSession | None]:
    """Open the session of a server for as long as the server runs. None without a name and a total.

    A named session must exist, unless a total is given to start it with. It stays after the server has ended.
    A session without a name ends with the server.
    """
    if not name and total is None:
        yield None
        return
    ledger = open_ledger(env)
    if total is None:
        # Raises an error if the session was never started. Otherwise a typing error would mean no limit.
        ledger.read(name)
    ends_with_server = not name
    name = name or f"mcp-{os.urandom(4).hex()}"
    try:
        with open_session(name, total=total):
            yield ChargedSession(name, SessionView(ledger, name))
    finally:
        if ends_with_server and ledger.has(name):
            ledger.end(name)
