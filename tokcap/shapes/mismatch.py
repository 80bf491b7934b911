"""Treat a payload that is not what the caller declared as text, with a notice that says why."""

from __future__ import annotations

from tokcap.core.notice import Notice
from tokcap.shapes.base import Sniffed


def treated_as_text(expected: str, reason: str = "") -> Sniffed:
    """Return the result for a payload that is not valid `expected`."""
    why = f": {reason}" if reason else ""
    message = f"the output is not valid {expected}{why}; treated as text"
    return Sniffed("text", notices=(Notice("SHAPE_MISMATCH", message),))
