"""The wording of marks. The same cut gives the same words: no clock, no counter, no path."""

from __future__ import annotations

from tokcap.core.cut import NAMING_LIMIT, Mark
from tokcap.core.tokenizer import rounded
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from tokcap.core.cut import Ask, Gap
    from tokcap.core.tokenizer import Total

    MarkForm: TypeAlias = Literal["long", "command", "short", "none"]

# From the longest to the shortest: with all that is known about the cut, with the command only, the bare
# sentinel, nothing. Without a sentinel text only the last applies.
FORMS: tuple[MarkForm, ...] = ("long", "command", "short", "none")
# These forms name the command that fetches the rest.
NAMING_FORMS: tuple[MarkForm, ...] = ("long", "command")
# From this limit on the payload gives way for the numbers in a mark too.
ROOMY_LIMIT = 4 * NAMING_LIMIT


def forms_of(ask: Ask) -> tuple[MarkForm, ...]:
    """Return the forms that a mark may take in this call, best first."""
    if not ask.sentinel:
        return ("none",)
    # Below the limit at which the command is promised, the payload matters more than a short command.
    return FORMS if names_command(ask.limit) else ("long", "short", "none")


def names_command(limit_tokens: int | None) -> bool:
    """Return whether a mark has to name its command under this limit."""
    return limit_tokens is None or limit_tokens >= NAMING_LIMIT


def note_of(gap: Gap, first_token: int, total: Total, ask: Ask, hidden_lines: int | None = None) -> str:
    """Return what is shown or hidden, and the command that fetches the rest."""
    rest = command_note(gap, ask)
    words = total.but(exact=total.exact and ask.exact).words
    remark = f"{ask.remark}; " if ask.remark and not gap.lost else ""
    if gap.end is None:
        return f"{ask.label}tokens {first_token}-{gap.first} of {words}; {remark}{rest}"
    lines = "" if hidden_lines is None else f" ({hidden_lines} lines)"
    return f"{ask.label}tokens {gap.first}-{end_of(gap)} of {words}{lines} hidden; {remark}{rest}"


def command_note(gap: Gap, ask: Ask) -> str:
    """Return only the command that fetches the rest."""
    if gap.lost:
        return "the rest was not stored"
    # Replace only the first braces: options in the command may have braces too.
    return "next: " + ask.next_command.replace("{}", str(gap.first), 1)


def inner_note(gap: Gap, total: Total, ask: Ask, hidden_lines: int | None = None) -> str:
    """Return what a further gap hides. The first gap's note has the command."""
    lines = "" if hidden_lines is None else f" ({hidden_lines} lines)"
    words = total.but(exact=total.exact and ask.exact).words
    return f"{ask.label}tokens {gap.first}-{end_of(gap)} of {words}{lines} hidden"


def survey_note(shown_tokens: int, gap: Gap, total: Total, ask: Ask) -> str:
    """Return how much of an output with many gaps is shown, and the command that fetches the rest."""
    exact = total.exact and ask.exact
    shown = str(shown_tokens) if exact else f"about {rounded(shown_tokens)}"
    remark = f"{ask.remark}; " if ask.remark and not gap.lost else ""
    return f"{ask.label}{shown} of {total.but(exact=exact).words} tokens; {remark}{command_note(gap, ask)}"


def gap_line(gap: Gap, lines: int | None, label: str, *, similar: bool) -> str:
    """Return the line that stands for hidden lines; None as their number: parts of lines are hidden."""
    kind = "similar line" if similar else "line"
    what = "" if lines is None else f"{lines} {kind}{'' if lines == 1 else 's'}, "
    first = f"about {rounded(gap.first)}" if gap.about else str(gap.first)
    end = str(gap.end) if not gap.about or gap.end is None else rounded(gap.end)
    return f"...{what}{label}tokens {first}-{end}"


def end_of(gap: Gap) -> str:
    return f"about {rounded(gap.end)}" if gap.about and gap.end is not None else str(gap.end)


def marks(form: MarkForm, note: str, ask: Ask) -> tuple[Mark, ...]:
    """Return the mark in one of its forms; nothing for `none`."""
    if form == "none":
        return ()
    return (Mark(ask.sentinel, note if form in NAMING_FORMS else ""),)


def mark_line(mark: Mark) -> str:
    """Return the mark as a line of text."""
    return f"{mark.text} {mark.note}\n" if mark.note else f"{mark.text}\n"


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
