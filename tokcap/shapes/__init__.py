"""The family of shapes: what an output is (`--shape`), and how it is cut, searched and summarized.

To add one, write its module and add a line here. No other module tests for the name of a shape. Text is the
shape of everything that no other member recognizes.
"""

from __future__ import annotations

from tokcap.core.request import AUTO
from tokcap.startup.record import TYPE_CHECKING, Table

if TYPE_CHECKING:
    from tokcap.core.payload import Payload
    from tokcap.shapes.base import Shape, Sniffed
    from tokcap.shapes.modes import Mode

SHAPES: Table[Shape] = Table(
    text="tokcap.shapes.text:TEXT",
    json="tokcap.shapes.json:JSON",
    jsonl="tokcap.shapes.json:JSON_LINES",
    csv="tokcap.shapes.table:CSV",
    tsv="tokcap.shapes.table:TSV",
)
# The response modes (`--mode`): how much of an output is shown.
MODES: Table[Mode] = Table(
    raw="tokcap.shapes.modes:RAW",
    table="tokcap.shapes.modes:TABLE",
    summary="tokcap.shapes.modes:SUMMARY",
    handle_only="tokcap.shapes.modes:HANDLE_ONLY",
)
# The shape of what no other shape recognizes.
FALLBACK = "text"


def terser(asked: str, longest: str) -> str:
    """Return the mode that was asked for, or the longest one that is allowed if that shows less."""
    return longest if MODES[longest].terseness > MODES[asked].terseness else asked


def sniff(payload: Payload, declared: str) -> Sniffed:
    """Return the declared shape if the payload confirms it, else the first that recognizes it."""
    if declared != AUTO:
        return SHAPES[declared].confirm(payload)
    for name in SHAPES:
        found = SHAPES[name].sniff(payload) if name != FALLBACK else None
        if found:
            return found
    return SHAPES[FALLBACK].confirm(payload)


def is_plain_text(declared: str, payload: Payload) -> bool:
    """Return whether the payload is declared to be text, or shows at its beginning that it is.

    Most output is text, and no other member is loaded to find that out.
    """
    if declared != AUTO:
        return declared == FALLBACK
    from tokcap.shapes.beginning import BEGINNING_BYTES, certainly_text

    return certainly_text(payload.read(0, min(payload.size, BEGINNING_BYTES)))
