"""`--keep focus`: what matters in the whole payload: both ends, failures with their context, what is rare.

A survey reads all units once. If the limit has no room for gaps, both ends are shown instead.
"""

from __future__ import annotations

from tokcap.core.cut import Circumstances
from tokcap.keep.ends import ENDS
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.core.cut import KeepPolicy, Material, Ranges, SurveyPolicy


class Focus:
    """Shows the units that matter."""

    needs_head = True
    needs_tail = True
    needs_middle = False
    prefers_end = False
    reads_only_head = False
    may_pass_live = False
    shows_prompts = True
    may_stop_early = False

    @property
    def survey(self) -> SurveyPolicy:
        return FocusOfCall(Circumstances()).survey

    def for_call(self, circumstances: Circumstances) -> KeepPolicy:
        return FocusOfCall(circumstances)

    def choose(self, material: Material) -> Ranges | None:
        """Return both ends. This is asked only where no survey is possible."""
        return ENDS.choose(material)


class FocusOfCall(Focus):
    """The same for one call: each payload is surveyed once, though several answers may be tried."""

    def __init__(self, circumstances: Circumstances) -> None:
        self._circumstances = circumstances
        self._survey: SurveyPolicy | None = None

    @property
    def survey(self) -> SurveyPolicy:
        if self._survey is None:
            # Loaded only if something has to be left out.
            from tokcap.keep.focused_call import FocusedCall

            self._survey = FocusedCall(self._circumstances)
        return self._survey


FOCUS = Focus()
