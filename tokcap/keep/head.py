"""`--keep head`: the beginning of the payload, as much as fits."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from tokcap.core.cut import Circumstances, Material, Ranges, SurveyPolicy


class Head(Record):
    """Shows the first units."""

    needs_head: bool = True
    needs_tail: bool = False
    needs_middle: bool = False
    prefers_end: bool = False
    reads_only_head: bool = True
    may_pass_live: bool = True
    shows_prompts: bool = True
    may_stop_early: bool = True
    survey: SurveyPolicy | None = None

    def for_call(self, circumstances: Circumstances) -> Head:
        return self

    def choose(self, material: Material) -> Ranges | None:
        """Return the longest range from the first unit that fits."""
        # Every call reads the properties above, but few calls need a choice.
        from tokcap.core.fit import largest_fit

        ends = material.head_ends()
        best = largest_fit(len(ends), lambda n: material.price(((0, ends[n]),)), material.limit)
        return None if best is None else ((0, ends[best]),)


HEAD = Head()
