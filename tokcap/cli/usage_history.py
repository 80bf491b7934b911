"""Read the usage history for `tokcap stats`, with totals that were counted in the store after the run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tokcap.errors import StoreError
from tokcap.store import Shelf
from tokcap.store.entry import LARGEST_INDEX_BYTES, index_name
from tokcap.system import private_files as private
from tokcap.tokens import Checkpoints
from tokcap.usage.history import UsageHistory

if TYPE_CHECKING:
    from tokcap.environment import Environment
    from tokcap.usage.sums import Sums


def read_history(env: Environment) -> UsageHistory:
    """Return the usage so far, and store its sums if there is anything new."""
    history = UsageHistory(env)
    has_new_lines = history.read()
    if settle_totals(history.sums, Shelf(env)) or has_new_lines:
        history.save()
    return history


def settle_totals(sums: Sums, shelf: Shelf) -> bool:
    """Add the totals of outputs that were too large to count when they ran. Return whether any was found."""
    has_changed = False
    for handle, tokenizer in sums.outputs_without_total():
        try:
            total = total_in_store(shelf, handle, tokenizer)
        except KeyError:
            sums.forget(handle, tokenizer)
            has_changed = True
            continue
        if total is not None:
            sums.settle(handle, tokenizer, total)
            has_changed = True
    return has_changed


def total_in_store(shelf: Shelf, handle: str, tokenizer: str) -> int | None:
    """Return the tokens of a stored stdout; None if it was not counted to its end.

    Raise `KeyError` if it is not stored any more.
    """
    place = shelf.place(handle)
    try:
        size = os.lstat(os.path.join(place, "out")).st_size
    except OSError:
        raise KeyError(handle) from None
    try:
        data = private.read_file(os.path.join(place, index_name("out", tokenizer)), LARGEST_INDEX_BYTES)
    except (FileNotFoundError, StoreError):
        return None
    found = Checkpoints.unpacked(data, size)
    return found.tokens[-1] if found and found.complete else None
