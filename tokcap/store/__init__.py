"""Stored outputs: complete outputs that were too long to show, found again by a handle.

`open_store` returns the store to use; no caller names a store class. To add a store, write a module with a
class that follows `base.Store`, and add one line to `STORES`.
"""

from __future__ import annotations

from tokcap.startup.record import TYPE_CHECKING, Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcap.core.request import Request
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment
    from tokcap.store.base import Caller, Store
    from tokcap.store.recorder import Recorder

    OpenStore = Callable[[str, Environment], Store]

# By URL scheme. A member is called with the rest of the URL and the environment.
STORES: Table[OpenStore] = Table(
    file="tokcap.store.shared:open_file",
    s3="tokcap.store.shared:open_s3",
    gs="tokcap.store.shared:open_gs",
    az="tokcap.store.shared:open_az",
)
VARIABLE = "TOKCAP_STORE"


def open_store(env: Environment, url: str = "") -> Store:
    """Return the store at `url`, by default the one that TOKCAP_STORE names, else the local one."""
    url = store_url(env, url)
    if not url:
        # The table would load more than the default needs.
        from tokcap.store.local import open_local_store

        return open_local_store(env)
    scheme, _, rest = url.partition("://")
    if scheme not in STORES:
        from tokcap.errors import UsageError

        # The URL is not repeated: it may have a password in it.
        known = ", ".join(f"{name}://" for name in STORES)
        raise UsageError(f"the store ({VARIABLE}, --store) must be a URL that starts with one of {known}")
    return STORES[scheme](rest, env)


def store_url(env: Environment, chosen: str = "") -> str:
    """Return the chosen URL, or that of the variable; empty for the local store."""
    return chosen or env.variables.get(VARIABLE, "").strip()


def open_recorder(request: Request, tokenizer: Tokenizer, env: Environment) -> Recorder:
    """Return a recorder for one run. The store itself is opened only when it is needed."""
    from tokcap.store.recorder import Recorder, settings_of

    url = store_url(env, request.store)
    # A bad URL is refused before anything runs.
    named = open_store(env, url) if url else None
    return Recorder(
        settings_of(request, tokenizer),
        lambda: named or open_store(env),
        env.now,
        lambda: caller_of(env, request.session),
    )


def caller_of(env: Environment, session: str = "") -> Caller:
    """Return who makes this call, by default in the session that TOKCAP_SESSION names."""
    from tokcap.store.base import Caller

    return Caller(session or env.variables.get("TOKCAP_SESSION", ""), env.process_session(), env.now())
