"""Seam."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokcap.core.request import Stream


class Ticket(Record):
    handle: str
    spill_path: str | None
    stored_bytes: Mapping[Stream, int]
    lost_bytes: Mapping[Stream, int]
