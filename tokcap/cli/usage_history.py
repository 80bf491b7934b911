"""Read the usage history for `tokcap stats`, with totals that were counted in the store after the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcap.core.tokenizer import identity_of
from tokcap.store import open_store
from tokcap.store.base import index_name
from tokcap.tokens import FAMILIES
from tokcap.tokens.checkpoints import Checkpoints
from tokcap.usage.history import UsageHistory

if TYPE_CHECKING:
    from tokcap.environment import Environment
    from tokcap.store.base import Store
    from tokcap.usage.sums import Sums


def read_history(env: Environment) -> UsageHistory:
    """Return the usage so far, and store its sums if there is anything new."""
    history = UsageHistory(env)
    has_new_lines = history.read()
    if settle_totals(history.sums, open_store(env), env) or has_new_lines:
        history.save()
    return history


def settle_totals(sums: Sums, store: Store, env: Environment) -> bool:
    """Add the totals of outputs that were too large to count when they ran. Return whether any was found."""
    has_changed = False
    for handle, tokenizer in sums.outputs_without_total():
        try:
            units = total_in_store(store, handle, stored_name(tokenizer, env))
            total = None if units is None else -(-units // units_per_token(tokenizer, env))
        except KeyError:
            sums.forget(handle, tokenizer)
            has_changed = True
            continue
        if total is not None:
            sums.settle(handle, tokenizer, total)
            has_changed = True
    return has_changed


def stored_name(tokenizer: str, env: Environment) -> str:
    """Return the name under which a tokenizer's positions are stored."""
    for family in ("added", "profiles"):
        if found := FAMILIES[family].open(tokenizer, env):
            return identity_of(found)
    return tokenizer


def units_per_token(tokenizer: str, env: Environment) -> int:
    found = FAMILIES["profiles"].open(tokenizer, env)
    return found.units_per_token if found else 1


def total_in_store(store: Store, handle: str, tokenizer: str) -> int | None:
    """Return the tokens, or units, of a stored stdout; None if it was not counted to its end.

    Raise `KeyError` if it is not stored any more.
    """
    output = store.examine(handle)
    if output is None:
        raise KeyError(handle)
    try:
        if "out" not in output.streams:
            raise KeyError(handle)
        data = output.read_file(index_name("out", tokenizer))
        found = None if data is None else Checkpoints.unpacked(data, output.streams["out"].size)
        return found.tokens[-1] if found and found.complete else None
    finally:
        output.close()
