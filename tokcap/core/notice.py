"""Notices: what the caller should know although the answer stands. A warning in the envelope."""

from __future__ import annotations

from tokcap.lean.record import Record


class Notice(Record):
    """One warning with its stable code."""

    code: str
    message: str
    pointer: str | None = None
    tokens: int | None = None
    tokens_estimate: int | None = None
    # Whether it only says what was left out for lack of room: in text form the mark says that.
    of_the_cut: bool = False
