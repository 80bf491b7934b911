"""The family of keep policies: which part of an oversized output survives (`--keep`).

To add one, write its module and add a line here. No other module tests for the name of a policy.
"""

from __future__ import annotations

from tokcap.startup.record import TYPE_CHECKING, Table

if TYPE_CHECKING:
    from tokcap.keep.base import Keep

KEEPS: Table[Keep] = Table(
    head="tokcap.keep.head:HEAD",
    tail="tokcap.keep.tail:TAIL",
    ends="tokcap.keep.ends:ENDS",
    focus="tokcap.keep.focus:FOCUS",
    auto="tokcap.keep.focus:AUTO",
)
