"""The base of keep policies: which parts of a payload one of them reads, and the choice that it makes.

A policy sees units, their text and prices. It does not know which shape they come from, and reads and writes
nothing.
"""

from __future__ import annotations

from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.core.cut import Circumstances, KeepPolicy, Material, Ranges, SurveyPolicy


class Keep:
    """A member of the family. It implements `core.cut.KeepPolicy`."""

    # Which parts of the payload it chooses from.
    needs_head = True
    needs_tail = False
    needs_middle = False
    # Whether the end matters more than the beginning if there is room for only one.
    prefers_end = False
    # Whether the answer can go on from a beginning that is out (`Circumstances.is_begun`).
    shows_prompts = True

    @property
    def reads_only_head(self) -> bool:
        """Whether the beginning of the payload is enough to make the answer.

        Then it can be passed on while the command runs, and a command can be stopped once the window is full.
        """
        return self.needs_head and not (self.needs_tail or self.needs_middle)

    @property
    def survey(self) -> SurveyPolicy | None:
        """The same policy if it chooses among all units."""
        return None

    def for_call(self, circumstances: Circumstances) -> KeepPolicy:
        """Return the policy for one call. It may keep what it found out until the call ends."""
        return self

    def choose(self, material: Material) -> Ranges | None:
        """Return the units to show, within the limit; None if none fits."""
        raise NotImplementedError
