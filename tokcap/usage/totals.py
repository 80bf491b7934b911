"""What the store knows by now of an output that was too large to be counted when it ran."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tokcap.errors import StoreError
from tokcap.store.entry import LARGEST_INDEX_BYTES, index_name
from tokcap.system import private_files as private
from tokcap.tokens import Checkpoints

if TYPE_CHECKING:
    from tokcap.store import Shelf


def total_in_store(shelf: Shelf, handle: str, tokenizer: str) -> int | None:
    """The tokens of a stored stdout, if somebody has counted to its end. `KeyError`: it is not stored."""
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
