"""Take the added flags out of the words of a group, before the group reads them.

A group may resolve its command in its own way: some insert a default command if there are no words, others
hand options that they do not know to such a command. So a group reads exactly the words that it would read
without the flags.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokcap.lean.record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence


class GroupWords(Record):
    """The words of a group without the flags, and the flags that were found, with their values."""

    rest: tuple[str, ...]
    given: tuple[tuple[Any, Any], ...]


def take_flags(group: Any, words: Sequence[str], flags: Sequence[Any]) -> GroupWords:
    """Find the flags among the options of a group: the words before the name of a command."""
    leave_to_default_command(group, flags)
    ours = [flag for flag in flags if flag in group.params]
    known = {
        spelling: parameter
        for parameter in group.params
        for spelling in (*parameter.opts, *parameter.secondary_opts)
    }
    rest: list[str] = []
    given: list[tuple[Any, Any]] = []
    position = 0
    while position < len(words):
        word = words[position]
        if not word.startswith("-") or word in ("-", "--"):
            break
        name, equals, value = word.partition("=")
        parameter = known.get(name)
        values = values_of(parameter if word.startswith("--") else last_of(word, known))
        after = position + 1 + (0 if equals and word.startswith("--") else values)
        if parameter not in ours:
            rest += words[position:after]
        elif bool(equals) > bool(values) or after > len(words):
            # A value that is missing, or that must not be there: the group itself reports it.
            rest += words[position:after]
        else:
            given.append((parameter, (value if equals else words[after - 1]) if values else True))
        position = after
    return GroupWords((*rest, *words[position:]), tuple(given))


def leave_to_default_command(group: Any, flags: Sequence[Any]) -> None:
    """Remove the flags from a group that its default command reads in another way.

    This is not known before: the command may be registered after its group was extended.
    """
    default = default_command(group)
    if default is not None:
        own = {word for parameter in default.params if parameter not in flags for word in parameter.opts}
        group.params[:] = [each for each in group.params if each not in flags or own.isdisjoint(each.opts)]


def default_command(group: Any) -> Any:
    """Return the command to which a group hands options that it does not know; None if there is none."""
    if not getattr(group, "ignore_unknown_options", False):
        return None
    try:
        # Such a group answers with its default for every name that it does not have.
        return group.get_command(group.context_class(group), "--")
    except Exception:
        # A group may need more of a context. Then it has no default that could be known here.
        return None


def values_of(parameter: Any) -> int:
    """Return how many words an option takes as its value."""
    takes = parameter is not None and not getattr(parameter, "is_flag", False)
    return parameter.nargs if takes and not getattr(parameter, "count", False) else 0


def last_of(word: str, known: dict[str, Any]) -> Any:
    """Return the option of `-abc` that takes the next word; None if a value is attached or none is taken."""
    for place, letter in enumerate(word[1:], 2):
        parameter = known.get(f"-{letter}")
        if parameter is None:
            break
        if values_of(parameter):
            return parameter if place == len(word) else None
    return known.get(word)
