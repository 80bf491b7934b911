"""`--keep tail`: the end of the payload, as much as fits."""

from __future__ import annotations

from tokcap.core.cut import largest_fit
from tokcap.keep.base import Keep
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.core.cut import Circumstances, KeepPolicy, Material, Ranges


class Tail(Keep):
    """Shows the last units."""

    needs_head = False
    needs_tail = True
    prefers_end = True

    def for_call(self, circumstances: Circumstances) -> KeepPolicy:
        return TAIL_AFTER_BEGINNING if circumstances.is_begun else self

    def choose(self, material: Material) -> Ranges | None:
        """Return the longest range to the last unit that fits."""
        return with_largest_tail(material, ())


class TailAfterBeginning(Tail):
    """The same if the beginning is already written."""

    needs_head = True

    def choose(self, material: Material) -> Ranges | None:
        """Return the shortest beginning that is possible, and the longest end that fits with it."""
        ends = material.head_ends()
        return with_largest_tail(material, ((0, ends[0]),)) if ends and material.gaps_are_marked else None


TAIL = Tail()
TAIL_AFTER_BEGINNING = TailAfterBeginning()


def with_largest_tail(material: Material, head: Ranges) -> Ranges | None:
    """Return `head` and the longest range to the last unit that fits with it; None if none fits."""
    starts = material.tail_starts(head[-1][1] if head else 0)

    def shown(number: int) -> Ranges:
        return (*head, (starts[number], material.count))

    best = largest_fit(len(starts), lambda n: material.price(shown(n)), material.limit)
    return None if best is None else shown(best)
