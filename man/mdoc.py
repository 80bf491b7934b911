"""Write parts of the catalog in mdoc(7) macros: options, lists, literal texts."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokcap.cli.description import Argument
    from tokcap.cli.options import Option

# mandoc warns about longer lines.
WIDTH = 75

# The heading of options without a group.
OTHER = "Other"


def option_groups(flags: Sequence[Option]) -> Iterator[str]:
    """Yield options under the headings of their groups."""
    for group in dict.fromkeys(flag.group for flag in flags):
        yield f".Ss {no_macros((group or OTHER).split())}"
        yield from option_list([flag for flag in flags if flag.group == group])


def option_list(flags: Iterable[Option]) -> Iterator[str]:
    yield ".Bl -tag -width indent"
    for flag in flags:
        yield from option(flag)
    yield ".El"


def option(flag: Option) -> Iterator[str]:
    spellings = " , ".join(f"Fl {spelling[1:]}" for spelling in flag.spellings)
    yield f".It {spellings}{value(flag)}"
    yield from sentence(flag.help)
    if flag.negation:
        yield f".Fl {flag.negation[1:]}"
        yield "turns it off."
    variable = flag.variable if flag.ambient else ""
    if (flag.shown_default and flag.takes_value) or variable:
        # Do not hyphenate what a reader may type.
        name, _, meaning = flag.shown_default.partition(": ")
        default = f"{name} ({meaning})" if meaning else name
        yield f"Default: \\%{escaped(default)}."
    if variable:
        yield "Variable:"
        yield f".Ev {variable} ."
        yield "Key:"
        yield f".Va {flag.key} ."


def value(flag: Option) -> str:
    """Return the value in macros, after a space; empty for a switch."""
    if flag.choices:
        return f" Cm {no_macros(flag.choices, ' | ')}"
    return f" Ar {flag.metavar}" if flag.takes_value else ""


def argument(argument: Argument) -> str:
    """Return an argument as a synopsis shows it."""
    words = argument.choices or (argument.metavar.lower(),)
    inside = f"{'Cm' if argument.choices else 'Ar'} {no_macros(words, ' | ')}"
    inside += " ..." if argument.repeatable else ""
    return f".{inside}" if argument.required else f".Op {inside}"


def argument_list(arguments: Sequence[Argument]) -> Iterator[str]:
    if arguments:
        yield ".Bl -tag -width indent"
        for one in arguments:
            yield argument(one.replace(required=True)).replace(".", ".It ", 1)
            yield from sentence(one.help)
        yield ".El"


def tagged(rows: Iterable[tuple[str, str]], macro: str = "") -> Iterator[str]:
    """Yield names and what they mean."""
    yield ".Bl -tag -width indent"
    for name, meaning in rows:
        yield f".It {macro} {name}" if macro else f".It {name}"
        yield from sentence(meaning)
    yield ".El"


def enumerated(macro: str, names: Sequence[str], conjunction: str = "and") -> Iterator[str]:
    """Yield `a, b and c`, each in the given macro."""
    *first, last = names
    yield f".{macro} {no_macros(first, ' , ')}"
    yield conjunction
    yield f".{macro} {no_macros([last])}"


def no_macros(words: Sequence[str], between: str = " ") -> str:
    """Escape words in the line of a macro: a word such as `In` would be a macro itself."""
    return between.join(f"\\&{word}" if word.istitle() else word for word in words)


def sentence(text: str, end: str = ".") -> Iterator[str]:
    """Yield a text of the catalog as sentences; a name at the beginning keeps its spelling."""
    text = " ".join(text.split())
    first = text.split(" ", 1)[0]
    whole = text[0].upper() + text[1:] if first.isalpha() and first != "tokcap" else text
    if not whole.endswith((".", ":")):
        whole += end
    # Every sentence begins a new line, so that the formatter chooses the space between them.
    for one in whole.replace(". ", ".\n").split("\n"):
        for line in textwrap.wrap(one, WIDTH, break_on_hyphens=False):
            # At the beginning of a line these two characters mark a macro.
            yield ("\\&" if line.startswith((".", "'")) else "") + escaped(line)


def escaped(text: str) -> str:
    return text.replace("\\", "\\e").replace(" -- ", " \\-\\- ")


def joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
