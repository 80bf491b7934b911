"""The catalogue in mdoc(7) macros: options, lists, literal texts."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokcap.cli.catalog import Argument, Example, Flag

# mandoc complains of longer lines.
WIDTH = 79

# The heading of options that belong to no group.
OTHER = "Other"


def option_groups(flags: Sequence[Flag]) -> Iterator[str]:
    """Options under the names of their groups."""
    for group in dict.fromkeys(flag.group for flag in flags):
        yield f".Ss {no_macros((group or OTHER).split())}"
        yield from option_list([flag for flag in flags if flag.group == group])


def option_list(flags: Iterable[Flag]) -> Iterator[str]:
    yield ".Bl -tag -width indent"
    for flag in flags:
        yield from option(flag)
    yield ".El"


def option(flag: Flag) -> Iterator[str]:
    spellings = " , ".join(f"Fl {spelling[1:]}" for spelling in flag.spellings)
    yield f".It {spellings}{value(flag)}"
    yield from sentence(flag.help)
    if flag.negation:
        yield f".Fl {flag.negation[1:]}"
        yield "turns it off again."
    if flag.required:
        yield "It has to be given."
    if (flag.shown_default and flag.type != "boolean") or flag.variable:
        # Not to be hyphenated: it is to be typed as it stands.
        yield f"Default: \\%{escaped(flag.shown_default)}."
    if flag.variable:
        yield "Variable:"
        yield f".Ev {flag.variable} ."
        yield "Key:"
        yield f".Va {flag.name} ."


def value(flag: Flag) -> str:
    """The value in macros, with the blank before it; nothing for a switch."""
    if flag.choices:
        return f" Cm {no_macros(flag.choices, ' | ')}"
    return f" Ar {flag.metavar}" if flag.takes_value else ""


def argument(argument: Argument) -> str:
    """A word that is told by its place, as it stands in a synopsis."""
    words = argument.choices or (argument.metavar.lower(),)
    inside = f"{'Cm' if argument.choices else 'Ar'} {no_macros(words, ' | ')}"
    inside += " ..." if argument.repeatable else ""
    return f".{inside}" if argument.required else f".Op {inside}"


def argument_list(arguments: Sequence[Argument]) -> Iterator[str]:
    if arguments:
        yield ".Bl -tag -width indent"
        for one in arguments:
            yield argument(one.but(required=True)).replace(".", ".It ", 1)
            yield from sentence(one.help)
        yield ".El"


def example_list(examples: Iterable[Example]) -> Iterator[str]:
    """Each call, and above it what it does."""
    for number, example in enumerate(examples):
        if number:
            yield ".Pp"
        yield from sentence(example.does, end=":")
        yield ".Bd -literal -offset indent"
        yield "$ " + escaped(example.call).replace("-", "\\-")
        yield ".Ed"


def tagged(rows: Iterable[tuple[str, str]], macro: str = "") -> Iterator[str]:
    """Names and what they mean."""
    yield ".Bl -tag -width indent"
    for name, meaning in rows:
        yield f".It {macro} {name}" if macro else f".It {name}"
        yield from sentence(meaning)
    yield ".El"


def enumerated(macro: str, names: Sequence[str], conjunction: str = "and") -> Iterator[str]:
    """`a, b and c`, each in the given macro."""
    *first, last = names
    yield f".{macro} {no_macros(first, ' , ')}"
    yield conjunction
    yield f".{macro} {no_macros([last])}"


def no_macros(words: Sequence[str], between: str = " ") -> str:
    """Words for a macro's line, where a word such as `In` would be a macro itself."""
    return between.join(f"\\&{word}" if word.istitle() else word for word in words)


def sentence(text: str, end: str = ".") -> Iterator[str]:
    """Text of the catalogue as a sentence; a name at its beginning keeps its spelling."""
    text = " ".join(text.split())
    first = text.split(" ", 1)[0]
    whole = text[0].upper() + text[1:] if first.isalpha() else text
    if not whole.endswith((".", ":")):
        whole += end
    # A new sentence begins a new line: what is between them is left to the formatter.
    for one in whole.replace(". ", ".\n").split("\n"):
        for line in textwrap.wrap(one, WIDTH, break_on_hyphens=False):
            # At the beginning of a line these two make a request of it.
            yield ("\\&" if line.startswith((".", "'")) else "") + escaped(line)


def escaped(text: str) -> str:
    return text.replace("\\", "\\e")


def joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
