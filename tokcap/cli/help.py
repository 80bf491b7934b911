"""Help of what the option table parses: one command on one screen. The help of all others is Typer's.

The full text of an option is shown if it fits on one line, else its first part. The man page has the full
texts.
"""

from __future__ import annotations

from tokcap.cli.catalog import HELP, RUN, SHOW, STRING, VERSION
from tokcap.core.request import SUBCOMMANDS
from tokcap.startup.record import TYPE_CHECKING
from tokcap.system.descriptors import USUAL_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.cli.description import Command
    from tokcap.cli.options import Option

FORMS = (
    ("tokcap [OPTIONS] [--] COMMAND [ARG]...", "run COMMAND and cap its output"),
    ("tokcap [OPTIONS] -c STRING [ARG]...", "the same for a shell string"),
    ("COMMAND | tokcap [OPTIONS]", "cap standard input"),
    ("tokcap SUBCOMMAND [OPTIONS] ...", "each has a --help of its own"),
)

EXITS = (
    "Exit status: the command's own; 128+N signal N; 120 budget exhausted; 124 timed out; "
    "125 tokcap failed; 126 not executable; 127 not found. "
)
MORE = "All options: tokcap --help all, or man tokcap"
CLOSING = (
    "Every option has a variable (TOKCAP_TOKEN_LIMIT) and a key in config.toml (token_limit); "
    f"--no-NAME turns a switch off. Also: -h, --help, -V, --version. {EXITS}See man tokcap"
)

SHELL_HELP = """\
usage: tokcap-sh [SHELL OPTIONS] [-c STRING | SCRIPT] [ARG]...

A shell whose output is capped as TOKCAP_* variables and config.toml say. All
arguments are passed to the real shell: /bin/sh, or the one TOKCAP_SHELL names.
For programs that take the name of a shell:

  TOKCAP_TOKEN_LIMIT=500 SHELL=tokcap-sh PROGRAM

An interactive shell at a terminal is not capped. For the options of tokcap see
tokcap --help
"""

# The widest left column. If an option is longer, its values are listed on the right.
WIDEST = 26
GAP = 2

# Defaults that are not shown.
UNSHOWN = ("", "off", "none")
# The heading of options without a group.
OTHER = "Options"
# Columns of the options with an example.
SPELLED, BRIEF = 21, 20


def usage() -> str:
    """Return the forms of a call, in a few lines."""
    width = max(len(form) for form, _ in FORMS) + GAP
    return "usage: " + "\n       ".join(f"{form:{width}}{meaning}" for form, meaning in FORMS) + "\n"


def short_help(columns: int) -> str:
    """Return what `tokcap` without a command prints on a terminal."""
    return usage() + paragraph("For the most used options and all subcommands: tokcap --help", columns)


def help_of_run(columns: int = USUAL_COLUMNS, *, everything: bool = True) -> str:
    """Return the text of `tokcap --help all`, or that of `tokcap --help`, which fits on a small screen."""
    flags = [flag for flag in RUN.options if flag not in (HELP, VERSION, STRING)]
    most_used = "Most used:\n" + "".join(with_example(flag) for flag in flags if flag.example)
    return (
        usage()
        + (option_groups(flags, columns) if everything else most_used)
        + "Subcommands:\n"
        + subcommands()
        + paragraph(CLOSING if everything else EXITS + MORE, columns)
    )


def show_help(columns: int = USUAL_COLUMNS) -> str:
    """Return the text of `tokcap show --help`."""
    return command_help(SHOW, columns)


def command_help(command: Command, columns: int) -> str:
    """Return the text of `tokcap … --help` for one command."""
    parts = [f"usage: {command.usage}\n\n", paragraph(command.summary, columns)]
    if command.details:
        parts.append("\n" + paragraph(command.details, columns))
    if command.arguments:
        rows = [(argument.metavar, argument.help) for argument in command.arguments]
        parts.append("\nArguments:\n" + "".join(in_columns(rows, columns)))
    parts.append("\n" + option_groups(command.options, columns))
    if command.epilog:
        parts.append("\n" + paragraph(command.epilog, columns))
    return "".join(parts)


def with_example(flag: Option) -> str:
    """Return `-n, --token-limit N  at most N tokens  tokcap -n 500 -- git log`."""
    spelled = ", ".join(flag.spellings) + (f" {flag.metavar or flag.key.upper()}" if flag.takes_value else "")
    return f"  {spelled:{SPELLED}}{flag.brief:{BRIEF}}{flag.example}\n"


def subcommands() -> str:
    """Return all subcommands, two in a line."""
    width = max(map(len, SUBCOMMANDS)) + GAP
    cells = [f"{name:{width}}{brief}" for name, brief in SUBCOMMANDS.items()]
    half = (USUAL_COLUMNS - GAP) // 2
    pairs = zip(cells[::2], [*cells[1::2], ""], strict=False)
    return "".join(f"  {left:{half}}{right}".rstrip() + "\n" for left, right in pairs)


def option_groups(flags: Sequence[Option], columns: int) -> str:
    """Return options under the headings of their groups."""
    blocks = []
    for group in dict.fromkeys(flag.group for flag in flags):
        rows = [option_row(flag, columns) for flag in flags if flag.group == group]
        blocks.append(f"{group or OTHER}:\n" + "".join(in_columns(rows, columns, of_options=True)))
    return "".join(blocks)


def option_row(flag: Option, columns: int) -> tuple[str, str]:
    """Return the left and right column, with the longest text that fits into one line."""
    left, values = flag.spelled, ""
    if len(left) > WIDEST and flag.choices:
        left = f"{', '.join(flag.spellings)} {flag.metavar or flag.key.upper()}"
        values = ", ".join(flag.choices)
    default = f" [{flag.shown_default}]" if flag.shown_default.partition(":")[0] not in UNSHOWN else ""
    wordings = [f"{values}: {text}" if values else text for text in (flag.help, flag.brief)]
    if values:
        wordings.append(values)
    room = columns - WIDEST - 2 * GAP
    texts = [text + default for text in wordings]
    return left, next((text for text in texts if len(text) <= room), texts[-1])


def in_columns(rows: Sequence[tuple[str, str]], columns: int, *, of_options: bool = False) -> Iterator[str]:
    """Return rows of two columns. If the left is too wide, the right starts below it."""
    import textwrap

    # Options use the same width everywhere, so that the groups of a page line up.
    fitting = [len(left) for left, _ in rows if len(left) <= WIDEST]
    width = WIDEST if of_options else max(fitting, default=0)
    for left, right in rows:
        lines = textwrap.wrap(right, columns - width - 2 * GAP, break_on_hyphens=False)
        indent = " " * (width + 2 * GAP)
        if len(left) > width:
            first, below = f"  {left}\n", lines
        else:
            first = f"  {left:{width + GAP}}{lines[0] if lines else ''}".rstrip() + "\n"
            below = lines[1:]
        yield first + "".join(f"{indent}{line}\n" for line in below)


def paragraph(text: str, columns: int) -> str:
    import textwrap

    return textwrap.fill(" ".join(text.split()), columns, break_on_hyphens=False) + "\n"
