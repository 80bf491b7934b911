"""The session that the results of a server are charged to. Loaded only if there is one."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tokcap.api.charged_session import ChargedSession
from tokcap.api.manager import open_session
from tokcap.budget import open_ledger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment


@contextmanager
def open_server_session(name: str, total: int | None, env: Environment) -> Iterator[ChargedSession]:
    """Open the session of a server for as long as the server runs.

    A named session must exist, unless a total is given to start it with. It stays after the server has ended.
    A session without a name ends with the server.
    """
    ledger = open_ledger(env)
    if total is None:
        # Raises an error if the session was never started. Otherwise a typing error would mean no limit.
        ledger.session(name).read()
    ends_with_server = not name
    name = name or f"mcp-{os.urandom(4).hex()}"
    try:
        with open_session(name, total=total):
            yield ChargedSession(name, ledger.session(name))
    finally:
        if ends_with_server and ledger.has(name):
            ledger.session(name).end()
