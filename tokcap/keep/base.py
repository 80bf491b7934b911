"""The protocol of keep policies: the choice that shapes ask for, and properties that the steps read.

A policy sees units, their text and prices. It does not know which shape they come from, and reads and writes
nothing.
"""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Protocol

    from tokcap.core.cut import Circumstances, KeepPolicy

    class Keep(KeepPolicy, Protocol):
        """A member of the family."""

        @property
        def reads_only_head(self) -> bool:
            """Whether the beginning of the payload is enough to make the answer."""
            ...

        @property
        def may_pass_live(self) -> bool:
            """Whether output at the beginning can be passed on while the command still runs."""
            ...

        @property
        def shows_prompts(self) -> bool:
            """Whether the answer can go on from a beginning that is out (`Circumstances.is_begun`)."""
            ...

        @property
        def may_stop_early(self) -> bool:
            """Whether the command can be stopped once the window is full (`--kill-on-limit`)."""
            ...

        def for_call(self, circumstances: Circumstances) -> KeepPolicy:
            """Return the policy for one call. It may keep what it found out until the call ends."""
            ...
