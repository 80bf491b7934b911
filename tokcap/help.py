"""Usage and help, rendered from the grammar table."""

from __future__ import annotations

from tokcap.options import Option, options_of
from tokcap.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE = """\
usage: tokcap [OPTIONS] [--] COMMAND [ARG]...    run COMMAND and cap its output
       tokcap [OPTIONS] -c STRING [NAME [ARG]..] the same for a shell string, as sh -c does
       COMMAND | tokcap [OPTIONS]                cap standard input
       tokcap show HANDLE [OPTIONS]              read a stored output
       tokcap spill list|path|rm|gc              stored outputs: list, find, remove
       tokcap budget start|status|...            sessions: one budget for many calls
       tokcap doctor [--write-config]            examine what is installed, stored and set
       tokcap hook list|install|remove|print     let an agent run its commands under tokcap
       tokcap completion bash|zsh|fish           print a completion script
"""

INTRODUCTION = """
Counts output in the tokens a language model pays for, and passes on no more than asked.

  tokcap -n 500 -- git log              at most 500 tokens, whole lines, and a mark at the cut
  tokcap show @last --token-offset 464  the next window, without running git again: see the mark
  tokcap --token-count -- cat notes.md  only the number of tokens
"""

SHOW_USAGE = """\
usage: tokcap show HANDLE [OPTIONS]

Reads an output that tokcap has stored; the command does not run again. HANDLE is what the mark
names, four or more of its first digits, or @last. Without a limit of its own it takes the run's.

  tokcap show 3f2a --token-offset 464     the window that begins at token 464
  tokcap show @last --grep 'error|warn'   matching lines, with line number and token offset
  tokcap show @last --pointer /items/3    one value of a JSON document
"""

CLOSING = """
Every option has a variable (--token-limit: TOKCAP_TOKEN_LIMIT) and a key in config.toml
(token_limit). A switch is turned off again by --no-NAME. Exit status: the command's own; 128+N if
signal N killed it; 120 the budget is exhausted, and nothing was run; 125 tokcap's own failure;
126 cannot be executed; 127 not found.
"""

COLUMN = 30
WIDTH = 96


def full_help() -> str:
    """The text of `tokcap --help`."""
    other = "\nOther:\n" + row("  -h, --help", "this text") + row("  -V, --version", "the version")
    return USAGE + INTRODUCTION + groups(options_of("run")) + other + CLOSING


def show_help() -> str:
    """The text of `tokcap show --help`."""
    # What only `show` has comes first.
    in_order = sorted(options_of("show"), key=lambda option: option.forms != ("show",))
    exits = "\nExit status: 0; 1 no such handle, value or line; 2 bad usage; 125 tokcap's own failure.\n"
    return SHOW_USAGE + groups(in_order) + exits


def groups(options: Sequence[Option]) -> str:
    """Options under the names of their groups."""
    blocks = []
    for group in dict.fromkeys(option.group for option in options):
        rows = [described(option) for option in options if option.group == group]
        blocks.append(f"\n{group}:\n" + "".join(rows))
    return "".join(blocks)


def spelled(option: Option) -> str:
    """`-n, --token-limit N`, as it stands in help and man page."""
    short = f"-{option.short}, " if option.short else ""
    value = f" {option.value_name}" if option.value_name else ""
    return f"{short}{option.flag}{value}"


def described(option: Option) -> str:
    indent = "  " if option.short else "      "
    return row(indent + spelled(option), f"{option.help} [{option.shown_default}]")


def row(left: str, right: str) -> str:
    import textwrap

    lines = textwrap.wrap(right, WIDTH - COLUMN)
    if len(left) + 1 >= COLUMN:
        lines.insert(0, "")
    first = left.ljust(COLUMN) + lines[0]
    return "\n".join([first.rstrip(), *(" " * COLUMN + line for line in lines[1:])]) + "\n"
