"""`--keep head`: the beginning of the payload, as much as fits."""

from __future__ import annotations

from tokcap.keep.base import Keep
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.core.cut import Material, Ranges


class Head(Keep):
    """Shows the first units."""

    def choose(self, material: Material) -> Ranges | None:
        """Return the longest range from the first unit that fits."""
        # Every call reads the properties above, but few calls need a choice.
        from tokcap.core.cut import largest_fit

        ends = material.head_ends()
        best = largest_fit(len(ends), lambda n: material.price(((0, ends[n]),)), material.limit)
        return None if best is None else ((0, ends[best]),)


HEAD = Head()
