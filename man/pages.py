"""Make all man pages from the catalog, the registries of codes, and texts that were written by hand.

The directory of texts has whole pages, with @names@ for computed parts, and for subcommands sections that are
added to the computed ones. A subcommand without a text has a page too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import mdoc

from tokcap.cli.catalog import all_commands, summary_of
from tokcap.cli.options import OPTIONS
from tokcap.core.request import SUBCOMMANDS
from tokcap.core.response import MEANINGS, Meta
from tokcap.errors import COMMAND_FAILURES, ReaderGone, TokcapError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tokcap.cli.description import Command

# Changed by hand when the pages change, so that the same catalog gives the same pages on any day.
DATE = "November 17, 2026"

WRAPPER, *OTHERS = all_commands()
# One page for each first word.
NAMES = tuple(dict.fromkeys(command.path[0] for command in OTHERS))

# The order of sections in a page, which mandoc checks.
SECTIONS = (
    "DESCRIPTION",
    "OPTIONS",
    "COMMANDS",
    "ENVIRONMENT",
    "FILES",
    "EXIT STATUS",
    "EXAMPLES",
    "SEE ALSO",
)


def pages(words: Path) -> dict[str, str]:
    """Return every page by its file name; `words` is the directory of the texts."""
    whole = {
        "man1/tokcap.1": filled(words / "tokcap.1.mdoc", options=mdoc.option_groups(WRAPPER.options)),
        "man1/tokcap-sh.1": filled(words / "tokcap-sh.1.mdoc"),
        "man1/tokcap-bash.1": filled(words / "tokcap-bash.1.mdoc"),
        "man5/tokcap-json.5": filled(
            words / "tokcap-json.5.mdoc",
            meta=meta(words / "meta.txt"),
            errors=mdoc.tagged(error_meanings().items(), "Dv"),
            warnings=mdoc.tagged(sorted(MEANINGS.items()), "Dv"),
        ),
    }
    return whole | {
        f"man1/tokcap-{name}.1": subcommand_page(name, sections_in(words / f"tokcap-{name}.1.mdoc"))
        for name in NAMES
    }


def filled(path: Path, **parts: Iterator[str]) -> str:
    """Return a page with its @names@ replaced."""
    text = path.read_text()
    parts |= {
        "date": iter([DATE]),
        "subcommands": mdoc.enumerated("Cm", [*SUBCOMMANDS]),
        "pages": page_list(),
        "environment": environment(),
        "see_also": see_also("tokcap"),
    }
    for part, lines in parts.items():
        text = text.replace(f"@{part}@\n", mdoc.joined(lines)).replace(f"@{part}@", DATE)
    return text


def page_list() -> Iterator[str]:
    for name in NAMES:
        yield f".It Cm {name}"
        yield from mdoc.sentence(summary_of(name))
        yield f"See tokcap-{name}(1)."


def subcommand_page(name: str, own: Mapping[str, list[str]]) -> str:
    """Return the page of one subcommand; `own` has the sections that were written by hand."""
    commands = [command for command in OTHERS if command.path[0] == name]
    lines = [
        f".Dd {DATE}",
        f".Dt TOKCAP-{name.upper()} 1",
        ".Os",
        ".Sh NAME",
        f".Nm tokcap-{name}",
        f".Nd {named(summary_of(name))}",
        ".Sh SYNOPSIS",
        *(line for command in commands for line in synopsis(command)),
    ]
    computed = {
        "DESCRIPTION": description(name, commands),
        "COMMANDS": described_commands([command for command in commands if len(command.path) > 1]),
        "OPTIONS": described_options(commands[0]) if len(commands[0].path) == 1 else iter(()),
        "ENVIRONMENT": variables(commands),
        "FILES": iter(["See tokcap(1)."]),
        "EXIT STATUS": exit_statuses(commands),
        "EXAMPLES": iter(()),
        "SEE ALSO": see_also(f"tokcap-{name}"),
    }
    unknown = own.keys() - set(SECTIONS)
    assert not unknown, f"unknown sections in the text for {name}: {', '.join(unknown)}"
    for section in SECTIONS:
        body = [*computed[section], *own.get(section, ())]
        # A paragraph is separated from what was computed, not from the heading.
        body = body[1:] if body[:1] == [".Pp"] else body
        lines += [f".Sh {section}", *body] if body else []
    return mdoc.joined(lines)


def sections_in(path: Path) -> dict[str, list[str]]:
    """Return the sections of a text that was written by hand; none if there is no such file."""
    sections: dict[str, list[str]] = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        if line.startswith(".Sh "):
            sections[line.removeprefix(".Sh ")] = []
        else:
            sections[[*sections][-1]].append(line)
    return sections


def named(summary: str) -> str:
    """Return a summary as it follows the name of a page."""
    return summary[0].lower() + summary[1:].rstrip(".")


def synopsis(command: Command) -> Iterator[str]:
    yield f".Nm {command.name}"
    yield ".Op Ar options"
    yield from map(mdoc.argument, command.arguments)


def description(name: str, commands: Sequence[Command]) -> Iterator[str]:
    if len(commands[0].path) > 1:
        yield from mdoc.sentence(summary_of(name))
        return
    yield from mdoc.sentence(commands[0].summary)
    yield from paragraphs(commands[0])
    yield from mdoc.argument_list(commands[0].arguments)


def described_commands(commands: Sequence[Command]) -> Iterator[str]:
    for command in commands:
        yield f".Ss {command.name}"
        yield from mdoc.sentence(command.summary)
        yield from paragraphs(command)
        yield from mdoc.argument_list(command.arguments)
        yield from mdoc.option_list(command.options)


def paragraphs(command: Command) -> Iterator[str]:
    for text in (command.details, command.epilog):
        if text:
            yield ".Pp"
            yield from mdoc.sentence(text)


def described_options(command: Command) -> Iterator[str]:
    if any(option.group for option in command.options):
        return mdoc.option_groups(command.options)
    return mdoc.option_list(command.options)


def variables(commands: Sequence[Command]) -> Iterator[str]:
    """Yield the variables of the options, and those that every command uses."""
    options = {one.variable: one for command in commands for one in command.options if one.ambient}
    yield ".Bl -tag -width TOKCAP_TOKEN_OFFSET"
    for variable, option in options.items():
        yield f".It Ev {variable}"
        yield f".Fl {option.spellings[-1][1:]}"
    answers = any("-o" in option.spellings for command in commands for option in command.options)
    if answers and "TOKCAP_OUTPUT" not in options:
        yield ".It Ev TOKCAP_OUTPUT"
        yield "The format of the response if no option sets it."
    yield ".It Ev TOKCAP_CONFIG , TOKCAP_DATA_DIR"
    yield "See tokcap(1)."
    yield ".El"


def exit_statuses(commands: Sequence[Command]) -> Iterator[str]:
    """Yield what each exit status of a subcommand means."""
    meanings = {code: meaning for command in commands for code, meaning in command.exit_meanings.items()}
    return mdoc.tagged(sorted(meanings.items(), key=lambda row: int(row[0])))


def see_also(own: str) -> Iterator[str]:
    names = ["tokcap(1)", *(f"tokcap-{name}(1)" for name in sorted((*NAMES, "bash", "sh"))), "tokcap-json(5)"]
    *first, last = (name for name in names if name != f"{own}(1)")
    yield from (f"{name}," for name in first)
    yield last


def environment() -> Iterator[str]:
    """Yield the variables of `tokcap`, which include those of `show`."""
    yield "Each option that is not for one stored output has a variable."
    yield "A flag overrides the variable, and the variable overrides the configuration"
    yield "file."
    yield "An empty variable is ignored, except"
    yield ".Ev TOKCAP_SENTINEL ."
    yield "The variable of a switch is"
    *lines, last = mdoc.enumerated("Cm", ("true", "yes", "on", "1", "false", "no", "off", "0"), "or")
    yield from [*lines, f"{last} ."]
    yield ".Bl -tag -width TOKCAP_TOKEN_OFFSET"
    yield ".It Ev TOKCAP_CONFIG"
    yield "The configuration file to use instead of the default one; it must exist."
    yield ".It Ev TOKCAP_SHELL"
    yield "The shell that runs the string of"
    yield ".Fl c ."
    yield ".It Ev TOKCAP_DATA_DIR"
    yield "The data directory to use instead of the default one."
    for option in OPTIONS:
        if option.ambient:
            yield f".It Ev {option.variable}"
            yield f".Fl -{option.name}" if option.has_name else f"{option.brief}.".capitalize()
    yield ".El"


def meta(path: Path) -> Iterator[str]:
    """Yield every key of `meta`, with its meaning from a file of `key: meaning` lines."""
    meanings = dict(line.split(": ", 1) for line in path.read_text().splitlines())
    # `continue` is a keyword of Python, so its field ends with an underscore.
    keys = (name.rstrip("_") for name in Meta.__annotations__)
    return mdoc.tagged([(key, meanings[key]) for key in keys], "Va")


def error_meanings() -> dict[str, str]:
    """Return every error code, and what it means."""
    kinds: list[type[TokcapError]] = [*TokcapError.__subclasses__(), TokcapError]
    return COMMAND_FAILURES | {kind.code: kind.__doc__ or "" for kind in kinds if kind is not ReaderGone}
