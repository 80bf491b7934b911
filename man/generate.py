"""Write the man pages beside this file, in mdoc(7) macros: `python man/generate.py`.

What is said of each command and option comes from the catalogue; what a table cannot know stands in
`words/`: whole pages with @names@ for what is computed, and for subcommands sections that are joined to
the computed ones. A subcommand without words of its own has a page all the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import mdoc

from tokcap.cli.application import app
from tokcap.cli.described import all_commands, groups
from tokcap.cli.options import OPTIONS, SUBCOMMANDS
from tokcap.core.response import Meta

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.cli.catalog import Command

# Changed by hand when the pages say something new: the same catalogue gives the same pages on any day.
DATE = "November 16, 2026"

DIRECTORY = Path(__file__).parent
WORDS = DIRECTORY / "words"

COMMANDS = all_commands(app)
SUMMARIES = {group.name: group.summary for group in groups(app)}
WRAPPER, *OTHERS = COMMANDS
# One page for each first word.
NAMES = tuple(dict.fromkeys(command.path[0] for command in OTHERS))

# In this order they stand in a page; the tools that read it insist.
SECTIONS = (
    "DESCRIPTION",
    "COMMANDS",
    "OPTIONS",
    "ENVIRONMENT",
    "FILES",
    "EXIT STATUS",
    "EXAMPLES",
    "SEE ALSO",
)


def pages() -> dict[str, str]:
    """Every page by the name of its file."""
    whole = {
        "tokcap.1": filled("tokcap.1", options=mdoc.option_groups(WRAPPER.flags)),
        "tokcap-sh.1": filled("tokcap-sh.1"),
        "tokcap-json.5": filled(
            "tokcap-json.5", meta=meta(), errors=codes("errors"), warnings=codes("warnings")
        ),
    }
    return whole | {f"tokcap-{name}.1": subcommand_page(name) for name in NAMES}


def filled(name: str, **parts: Iterator[str]) -> str:
    """A page of `words/` with its @names@ replaced."""
    text = (WORDS / f"{name}.mdoc").read_text()
    parts |= {
        "date": iter([DATE]),
        "subcommands": mdoc.enumerated("Cm", SUBCOMMANDS),
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


def subcommand_page(name: str) -> str:
    """The page of one first word, with the commands behind it."""
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
        "COMMANDS": described_commands(commands) if len(commands[0].path) > 1 else iter(()),
        "OPTIONS": described_options(commands[0]) if len(commands[0].path) == 1 else iter(()),
        "ENVIRONMENT": variables(commands),
        "FILES": iter(["See tokcap(1)."]),
        "EXIT STATUS": exit_statuses(commands),
        "EXAMPLES": mdoc.example_list(example for command in commands for example in command.examples),
        "SEE ALSO": see_also(f"tokcap-{name}"),
    }
    own = own_sections(name)
    for section in SECTIONS:
        body = [*computed[section], *own.pop(section, ())]
        lines += [f".Sh {section}", *body] if body else []
    assert not own, f"unknown sections in the words for {name}: {', '.join(own)}"
    return mdoc.joined(lines)


def own_sections(name: str) -> dict[str, list[str]]:
    """What was written by hand for a subcommand, by section."""
    path = WORDS / f"tokcap-{name}.1.mdoc"
    sections: dict[str, list[str]] = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        if line.startswith(".Sh "):
            sections[line.removeprefix(".Sh ")] = []
        else:
            sections[[*sections][-1]].append(line)
    return sections


def summary_of(name: str) -> str:
    alone = [command.sentence for command in OTHERS if command.path == (name,)]
    return (alone or [SUMMARIES.get(name, name)])[0]


def named(summary: str) -> str:
    """A summary as it stands behind the name of a page."""
    return summary[0].lower() + summary[1:].rstrip(".")


def synopsis(command: Command) -> Iterator[str]:
    yield f".Nm {command.name}"
    yield ".Op Ar options"
    yield from map(mdoc.argument, command.arguments)


def description(name: str, commands: Sequence[Command]) -> Iterator[str]:
    if len(commands[0].path) > 1:
        yield from mdoc.sentence(SUMMARIES[name])
        return
    yield from mdoc.sentence(commands[0].summary)
    if commands[0].details:
        yield ".Pp"
        yield from mdoc.sentence(commands[0].details)
    yield from mdoc.argument_list(commands[0].arguments)


def described_commands(commands: Sequence[Command]) -> Iterator[str]:
    for command in commands:
        yield f".Ss {command.name}"
        yield from mdoc.sentence(command.summary)
        if command.details:
            yield ".Pp"
            yield from mdoc.sentence(command.details)
        yield from mdoc.argument_list(command.arguments)
        yield from mdoc.option_list(command.flags)


def described_options(command: Command) -> Iterator[str]:
    if any(flag.group for flag in command.flags):
        return mdoc.option_groups(command.flags)
    return mdoc.option_list(command.flags)


def variables(commands: Sequence[Command]) -> Iterator[str]:
    """Those of the options, and those that every command heeds."""
    flags = {flag.variable: flag for command in commands for flag in command.flags if flag.variable}
    yield ".Bl -tag -width TOKCAP_TOKEN_OFFSET"
    for variable, flag in flags.items():
        yield f".It Ev {variable}"
        yield f".Fl {flag.spellings[-1][1:]}"
    answers = [flag for command in commands for flag in command.flags if "-o" in flag.spellings]
    if "TOKCAP_OUTPUT" not in flags and any(flag.default is None for flag in answers):
        yield ".It Ev TOKCAP_OUTPUT"
        yield "The form of the response where no option says it."
    yield ".It Ev TOKCAP_CONFIG , TOKCAP_DATA_DIR"
    yield "See tokcap(1)."
    yield ".It Ev NO_COLOR"
    yield "If it is not empty, nothing is shown in colours."
    yield ".El"


def exit_statuses(commands: Sequence[Command]) -> Iterator[str]:
    """What a status means; for those of a group that mean different things by it, all of that."""
    meanings: dict[str, list[str]] = {}
    for command in commands:
        for status, meaning in command.exit_meanings.items():
            meanings.setdefault(status, []).append(meaning)
    rows = [(status, "; ".join(dict.fromkeys(found))) for status, found in meanings.items()]
    return mdoc.tagged(sorted(rows, key=lambda row: int(row[0])))


def see_also(own: str) -> Iterator[str]:
    names = ["tokcap(1)", *(f"tokcap-{name}(1)" for name in sorted((*NAMES, "sh"))), "tokcap-json(5)"]
    *first, last = (name for name in names if name != f"{own}(1)")
    yield from (f"{name}," for name in first)
    yield last


def environment() -> Iterator[str]:
    """The variables of the wrapper form; those of `show` are among them."""
    yield "Each option that is not about one stored output has a variable."
    yield "A flag comes before the variable, the variable before the configuration file."
    yield "An empty variable is no value, but for"
    yield ".Ev TOKCAP_SENTINEL ."
    yield "That of a switch is"
    *lines, last = mdoc.enumerated("Cm", ("true", "yes", "on", "1", "false", "no", "off", "0"), "or")
    yield from [*lines, f"{last} ."]
    yield ".Bl -tag -width TOKCAP_TOKEN_OFFSET"
    yield ".It Ev TOKCAP_CONFIG"
    yield "The configuration file to read instead of the user's own; it must exist."
    yield ".It Ev TOKCAP_SHELL"
    yield "The shell that runs the string of"
    yield ".Fl c ."
    yield ".It Ev TOKCAP_DATA_DIR"
    yield "The directory for what is stored, instead of the user's own."
    yield ".It Ev NO_COLOR"
    yield "If it is not empty, help is shown without colours."
    for option in OPTIONS:
        if option.ambient:
            yield f".It Ev {option.variable}"
            yield f".Fl -{option.name}"
    yield ".El"


def meta() -> Iterator[str]:
    """Every key of `meta`; one without words is a mistake."""
    words = dict(rows("meta"))
    return mdoc.tagged([(key, words[key]) for key in Meta.__annotations__], "Va")


def codes(kind: str) -> Iterator[str]:
    return mdoc.tagged(rows(kind), "Dv")


def rows(name: str) -> list[tuple[str, str]]:
    """A file of `words/` with one `name: meaning` in each line."""
    lines = (WORDS / f"{name}.txt").read_text().splitlines()
    return [(line.partition(": ")[0], line.partition(": ")[2]) for line in lines]


def main() -> None:
    for name, text in pages().items():
        (DIRECTORY / name).write_text(text)


if __name__ == "__main__":
    main()
