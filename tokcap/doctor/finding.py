"""What one check has found, and what is to be done about it."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, TypeAlias

    # A note is worth knowing and no defect; what is wrong makes the exit status 1.
    Status: TypeAlias = Literal["ok", "note", "wrong"]

NAMES_SHOWN = 5


class Finding(Record):
    """One line of the report."""

    name: str
    status: Status
    message: str
    # A command to copy; empty where there is nothing to do.
    remedy: str = ""


class Setting(Finding):
    """A setting that is in force, and its source: a variable, a line of a file, a model, the default."""

    value: int | float | bool | str | None = None
    source: str = ""


def ok(name: str, message: str) -> Finding:
    return Finding(name, "ok", message)


def note(name: str, message: str, remedy: str = "") -> Finding:
    return Finding(name, "note", message, remedy)


def wrong(name: str, message: str, remedy: str) -> Finding:
    return Finding(name, "wrong", message, remedy)


def some_of(names: Sequence[str]) -> str:
    """The first few of many names."""
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
