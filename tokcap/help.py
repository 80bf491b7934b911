"""Usage and help, rendered from the grammar table."""

from __future__ import annotations

from tokcap.options import OPTIONS, Option

USAGE = """\
usage: tokcap [OPTIONS] [--] COMMAND [ARG]...    run COMMAND and cap its output
       COMMAND | tokcap [OPTIONS]                cap standard input
       tokcap completion bash|zsh|fish           print a completion script
"""

INTRODUCTION = """
Counts output in the tokens a language model pays for, and passes on no more than asked.

  tokcap -n 500 -- git log              at most 500 tokens, whole lines, and a mark at the cut
  tokcap -n 500 --token-offset 464 ...  the next window: the mark says where it starts
  tokcap --token-count -- cat notes.md  only the number of tokens
"""

CLOSING = """
Every option has a variable (--token-limit: TOKCAP_TOKEN_LIMIT) and a key in config.toml
(token_limit). A switch is turned off again by --no-NAME. Exit status: the command's own; 128+N if
signal N killed it; 125 tokcap's own failure; 126 cannot be executed; 127 not found.
"""

COLUMN = 30
WIDTH = 96


def full_help() -> str:
    """The text of `tokcap --help`."""
    blocks = [USAGE, INTRODUCTION]
    for group in dict.fromkeys(option.group for option in OPTIONS):
        rows = [described(option) for option in OPTIONS if option.group == group]
        blocks.append(f"\n{group}:\n" + "".join(rows))
    blocks.append("\nOther:\n" + row("  -h, --help", "this text") + row("  -V, --version", "the version"))
    blocks.append(CLOSING)
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
