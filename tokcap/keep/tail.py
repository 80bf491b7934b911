"""`--keep tail`: the end of the payload, as much as fits."""

from __future__ import annotations

from tokcap.core.fit import largest_fit
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from tokcap.core.cut import Circumstances, Material, Ranges, SurveyPolicy


class Tail(Record):
    """Shows the last units."""

    needs_head: bool = False
    needs_tail: bool = True
    needs_middle: bool = False
    prefers_end: bool = True
    reads_only_head: bool = False
    may_pass_live: bool = False
    shows_prompts: bool = True
    may_stop_early: bool = False
    survey: SurveyPolicy | None = None

    def for_call(self, circumstances: Circumstances) -> Tail:
        return TAIL_AFTER_BEGINNING if circumstances.is_begun else self

    def choose(self, material: Material) -> Ranges | None:
        """Return the longest range to the last unit that fits."""
        return with_largest_tail(material, ())


class TailAfterBeginning(Tail):
    """The same if the beginning is already written."""

    def choose(self, material: Material) -> Ranges | None:
        """Return the shortest beginning that is possible, and the longest end that fits with it."""
        ends = material.head_ends()
        return with_largest_tail(material, ((0, ends[0]),)) if ends and material.gaps_are_marked else None


TAIL = Tail()
TAIL_AFTER_BEGINNING = TailAfterBeginning(needs_head=True)


def with_largest_tail(material: Material, head: Ranges) -> Ranges | None:
    """Return `head` and the longest range to the last unit that fits with it; None if none fits."""
    starts = material.tail_starts(head[-1][1] if head else 0)

    def shown(number: int) -> Ranges:
        return (*head, (starts[number], material.count))

    best = largest_fit(len(starts), lambda n: material.price(shown(n)), material.limit)
    return None if best is None else shown(best)
