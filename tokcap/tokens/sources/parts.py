"""The parts of a `tokenizer.json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokcap.tokens.sources.base import Refused, member

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def parts_of(part: object, members: str) -> Iterator[Mapping[str, Any]]:
    """Return the parts of a sequence, or the part itself; nothing for null."""
    is_sequence = isinstance(part, dict) and part.get("type") == "Sequence"
    for inner in member(part, members, list) if is_sequence else [part]:
        if isinstance(inner, dict):
            yield inner
        elif inner is not None:
            raise Refused("a part of it is not an object")
