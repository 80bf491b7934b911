"""The wording of marks and of numbers of tokens.

The same cut gives the same words: no clock, no counter, no path.
"""

from __future__ import annotations

from tokcap.core.cut import Mark
from tokcap.core.request import NAMING_LIMIT
from tokcap.core.tokenizer import Total
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, TypeAlias

    from tokcap.core.cut import Ask, Gap

    MarkForm: TypeAlias = Literal["long", "command", "short", "none"]

# From the longest to the shortest: with all that is known about the cut, with the command only, the bare
# sentinel, nothing. Without a sentinel text only the last applies.
FORMS: tuple[MarkForm, ...] = ("long", "command", "short", "none")
# These forms name the command that fetches the rest.
NAMING_FORMS: tuple[MarkForm, ...] = ("long", "command")
# From this limit on the payload gives way for the numbers in a mark too.
ROOMY_LIMIT = 2 * NAMING_LIMIT
# The beginning of a line that stands for hidden lines.
ELLIPSIS = "…"


def forms_of(ask: Ask) -> tuple[MarkForm, ...]:
    """Return the forms that a mark may take in this call, best first."""
    if not ask.sentinel:
        return ("none",)
    # Below the limit at which the command is promised, the payload matters more than a short command.
    return FORMS if names_command(ask.limit) else ("long", "short", "none")


def names_command(limit_tokens: int | None) -> bool:
    """Return whether a mark has to name its command under this limit."""
    return limit_tokens is None or limit_tokens >= NAMING_LIMIT


def note_of(shown: Total, total: Total, gap: Gap, ask: Ask) -> str:
    """Return how many tokens are shown, of how many, and the command that fetches the rest.

    The command has the offset of the first token that is not shown.
    """
    if shown.exact and total.exact and ask.exact:
        # Without the blanks around a word this costs two tokens less.
        amount = f"{shown.tokens}/{total.tokens}"
    else:
        amount = f"{words_of(shown, exact=ask.exact)} of {words_of(total, exact=ask.exact)}"
    remark = f"{ask.remark}; " if ask.remark and not gap.lost else ""
    if gap.line:
        # The legend of the lines that stand for gaps.
        remark = f"{ELLIPSIS}N lines{ask.gaps_option and ': ' + ask.gaps_option}; {remark}"
    return f"{ask.label}{amount} tokens; {remark}{command_note(gap, ask)}"


def shown_between(gaps: Sequence[Gap], first_token: int, total: Total) -> Total:
    """Return how many tokens are shown of a payload from `first_token` on, if these are left out."""
    last = gaps[-1]
    end = Total(last.first) if last.end is None else total
    hidden = sum(gap.end - gap.first for gap in gaps if gap.end is not None)
    exact = end.exact and not any(gap.about for gap in gaps)
    return Total(max(end.tokens - first_token - hidden, 0), exact)


def words_of(number: Total, *, exact: bool = True) -> str:
    """Return `4217`, or `about 1.2M`: an estimate shows two significant digits. `exact`: it may be exact."""
    return str(number.tokens) if number.exact and exact else f"about {rounded(number.tokens)}"


def rounded(number: int) -> str:
    """Format a number with two significant digits, in thousands, millions or billions."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{number / size:.{1 if number < 10 * size else 0}f}{unit}"
    return str(number)


def command_note(gap: Gap, ask: Ask) -> str:
    """Return only the command that fetches the rest."""
    if gap.lost:
        return "the rest was not stored"
    # Replace only the first braces: options in the command may have braces too.
    command = ask.next_command.replace("{}", str(gap.first), 1)
    # Options alone are not a command: they belong to the same call once more.
    return f"next: {command}" if command.startswith("-") else command


def inner_note(gap: Gap, ask: Ask) -> str:
    """Return what a further gap hides. The note of the first gap has the command."""
    return f"{ask.label}tokens {gap.first}-{end_of(gap)} hidden"


def gap_line(gap: Gap, *, similar: bool) -> str:
    """Return the line that stands for hidden lines: `…293`; without a number for parts of lines.

    Without blanks it is three tokens, with its line end.
    """
    return ELLIPSIS if gap.lines is None else f"{ELLIPSIS}{gap.lines}{' similar' if similar else ''}"


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
    from tokcap.startup.plainjson import quoted as as_json

    return as_json(text)


def mark_element(mark: Mark) -> bytes:
    """Return the mark as an element of an array."""
    return quoted(mark.text if mark.hidden is None else f"{mark.text} {mark.hidden} hidden")


def mark_member(mark: Mark) -> bytes:
    """Return the mark as a member of an object. On a line of its own it is the only member."""
    return quoted(mark.text) + (b":true" if mark.hidden is None else b":%d" % mark.hidden)
