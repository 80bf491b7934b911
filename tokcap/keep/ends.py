"""`--keep ends`: both ends of the payload, each about half of the limit, with a mark between them."""

from __future__ import annotations

from tokcap.core.cut import largest_fit
from tokcap.keep.base import Keep
from tokcap.keep.head import HEAD
from tokcap.keep.tail import TAIL, with_largest_tail
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.core.cut import Material, Ranges


class Ends(Keep):
    """Shows the first and the last units."""

    needs_tail = True

    def __init__(self, *, prefers_end: bool = False) -> None:
        self.prefers_end = prefers_end

    def choose(self, material: Material) -> Ranges | None:
        """Return both ends; one of them only if the material allows no better."""
        if not material.both_ends_required:
            return largest_ends(material)
        both = two_ends(material) if material.gaps_are_marked else None
        if both or not material.one_end_allowed:
            return both
        return (TAIL if self.prefers_end else HEAD).choose(material)


ENDS = Ends()
# For stderr: its last lines usually give the reason for a failure.
ENDS_PREFERRING_LAST = Ends(prefers_end=True)


def largest_head(material: Material) -> int | None:
    """Return the index of the longest head within half of the limit; None if all are longer."""
    ends = material.head_ends()
    bare = material.price(())
    half = min(bare + (material.limit - bare) // 2, material.limit)
    return largest_fit(len(ends), lambda n: material.price(((0, ends[n]),)), half)


def largest_ends(material: Material) -> Ranges | None:
    """Return as much of both ends as fits; one end may be missing."""
    best = largest_head(material)
    head = () if best is None else ((0, material.head_ends()[best]),)
    return with_largest_tail(material, head) or head or None


def two_ends(material: Material) -> Ranges | None:
    """Return at least one unit of each end; None if that does not fit."""
    heads, tails = material.head_ends(), material.tail_starts(0)
    if not heads or not tails or heads[0] >= tails[0]:
        return None
    best = largest_head(material) or 0
    # The last unit must fit too: shorten the head to make room for it.
    heads = [end for end in heads[: best + 1] if end < tails[0]]
    last = (tails[0], material.count)
    fitting = largest_fit(len(heads), lambda n: material.price(((0, heads[n]), last)), material.limit)
    return None if fitting is None else with_largest_tail(material, ((0, heads[fitting]),))
