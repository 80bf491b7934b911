"""The result of one check, and what to do about it."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, TypeAlias

    # A note is worth knowing but not a defect. If anything is wrong, the exit status is 1.
    Status: TypeAlias = Literal["ok", "note", "wrong"]

MAX_NAMES = 5


class Finding(Record):
    """One line of the report."""

    name: str
    status: Status
    message: str
    # A command to copy; empty if there is nothing to do.
    remedy: str = ""


class Setting(Finding):
    """A setting in effect, and its source: a variable, a line of a file, a model, or the default."""

    value: int | float | bool | str | None = None
    source: str = ""


def ok(name: str, message: str) -> Finding:
    return Finding(name, "ok", message)


def note(name: str, message: str, remedy: str = "") -> Finding:
    return Finding(name, "note", message, remedy)


def wrong(name: str, message: str, remedy: str) -> Finding:
    return Finding(name, "wrong", message, remedy)


def some_of(names: Sequence[str]) -> str:
    """List the first few names, and count the others."""
    more = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
