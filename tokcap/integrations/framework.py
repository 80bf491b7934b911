"""What Typer and Click have in common under different names, as one record."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class Framework(Record):
    """How one framework declares the flags, and how its programs end."""

    # The flags as its parameters; commands can share them.
    flags: Sequence[Any]
    # Told to the user: any error, and one in the command line itself.
    shown_error: type[Any]
    usage_error: type[Any]
    # Ends the program with a status, or as if it had been interrupted.
    exit: type[Any]
    abort: type[Exception]
    # What Ctrl-C ends with.
    interrupted_status: int
