"""The response modes (`--mode`): how much of an output is shown. The same payload gives the same bytes.

No mode cuts to the limit: its result is cut like any other payload.
"""

from __future__ import annotations

from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.core.payload import Payload
    from tokcap.shapes.base import Changed, RunFacts, Shape


class Mode:
    """One response mode: `raw`, which shows the payload itself."""

    name = "raw"
    # How little it shows. When little is left of a budget, a mode with a higher number is used instead.
    terseness = 0
    # Whether the payload itself is shown, unchanged.
    shows_payload = True
    # Whether the answer only describes the output: then all of it counts as withheld, and stderr is described
    # too.
    describes = False

    def changed(self, payload: Payload, shape: Shape, facts: RunFacts) -> Changed:
        """Return the payload as this mode shows it."""
        from tokcap.shapes.base import Changed

        return Changed(payload.read(0, payload.size), shape.name)


class TableMode(Mode):
    """Every record, in fewer tokens."""

    name = "table"
    terseness = 1
    shows_payload = False

    def changed(self, payload: Payload, shape: Shape, facts: RunFacts) -> Changed:
        return shape.as_table(payload)


class SummaryMode(Mode):
    """What a reader needs to decide what to read next."""

    name = "summary"
    terseness = 2
    shows_payload = False
    describes = True

    def changed(self, payload: Payload, shape: Shape, facts: RunFacts) -> Changed:
        from tokcap.shapes.base import Changed
        from tokcap.shapes.summary import summary

        return Changed(summary(payload, shape, facts), "text")


class HandleOnlyMode(Mode):
    """One line."""

    name = "handle_only"
    terseness = 3
    shows_payload = False
    describes = True

    def changed(self, payload: Payload, shape: Shape, facts: RunFacts) -> Changed:
        from tokcap.shapes.base import Changed
        from tokcap.shapes.summary import handle_only

        return Changed(handle_only(shape, facts), "text")


RAW, TABLE, SUMMARY, HANDLE_ONLY = Mode(), TableMode(), SummaryMode(), HandleOnlyMode()
