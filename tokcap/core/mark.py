"""The wording of marks. The same cut gives the same words: no clock, no counter, no path."""

from __future__ import annotations

from tokcap.core.cut import Mark
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from tokcap.core.cut import Ask, Gap
    from tokcap.core.tokenizer import Total

    MarkForm: TypeAlias = Literal["long", "short", "none"]

# From the longest to the shortest. Without a sentinel text only the last applies.
FORMS: tuple[MarkForm, ...] = ("long", "short", "none")


def forms_of(ask: Ask) -> tuple[MarkForm, ...]:
    """Return the forms that a mark may take in this call, best first."""
    return FORMS if ask.sentinel else ("none",)


def note_of(gap: Gap, first_token: int, total: Total, ask: Ask, hidden_lines: int | None = None) -> str:
    """Return what is shown or hidden, and the command that fetches the rest."""
    # Replace only the first braces: options in the command may have braces too.
    command = ask.next_command.replace("{}", str(gap.first), 1)
    rest = "the rest was not stored" if gap.lost else f"next: {command}"
    words = total.but(exact=total.exact and ask.exact).words
    remark = f"{ask.remark}; " if ask.remark and not gap.lost else ""
    if gap.end is None:
        return f"{ask.label}tokens {first_token}-{gap.first} of {words}; {remark}{rest}"
    lines = "" if hidden_lines is None else f" ({hidden_lines} lines)"
    return f"{ask.label}tokens {gap.first}-{gap.end} of {words}{lines} hidden; {remark}{rest}"


def inner_note(gap: Gap, total: Total, ask: Ask, hidden_lines: int | None = None) -> str:
    """Return what a further gap hides. The first gap's note has the command."""
    lines = "" if hidden_lines is None else f" ({hidden_lines} lines)"
    words = total.but(exact=total.exact and ask.exact).words
    return f"{ask.label}tokens {gap.first}-{gap.end} of {words}{lines} hidden"


def marks(form: MarkForm, note: str, ask: Ask) -> tuple[Mark, ...]:
    """Return the mark in one of its forms; nothing for `none`."""
    if form == "none":
        return ()
    return (Mark(ask.sentinel, note if form == "long" else ""),)


def quoted(text: str) -> bytes:
    """Return a text as a JSON string."""
    # Most answers are text and need no JSON.
    from tokcap.lean.plainjson import quoted as as_json

    return as_json(text)


def mark_element(mark: Mark) -> bytes:
    """Return the mark as an element of an array."""
    return quoted(mark.text if mark.hidden is None else f"{mark.text} {mark.hidden} hidden")


def mark_member(mark: Mark) -> bytes:
    """Return the mark as a member of an object. On a line of its own it is the only member."""
    return quoted(mark.text) + (b":true" if mark.hidden is None else b":%d" % mark.hidden)
