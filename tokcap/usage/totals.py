"""What the store knows by now of an output that was too large to be counted when it ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcap.store.base import index_name
from tokcap.tokens import Checkpoints

if TYPE_CHECKING:
    from tokcap.store.base import Store


def total_in_store(store: Store, handle: str, tokenizer: str) -> int | None:
    """Return the tokens of a stored stdout, None if they are not counted. `KeyError` if it is not stored."""
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
