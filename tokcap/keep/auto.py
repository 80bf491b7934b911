"""`--keep auto`: what matters, or the beginning for a page with an offset. What fits is shown whole."""

from __future__ import annotations

from tokcap.keep.focus import FOCUS, Focus
from tokcap.keep.head import HEAD
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.core.cut import Circumstances, KeepPolicy


class Auto(Focus):
    """Decides when it knows which page is asked for."""

    def for_call(self, circumstances: Circumstances) -> KeepPolicy:
        # Pages follow one another: each starts where the one before it ended.
        return (HEAD if circumstances.offset else FOCUS).for_call(circumstances)


AUTO = Auto()
