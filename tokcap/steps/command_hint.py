"""Guess what was meant by a command that cannot be started. Loaded only when that happens.

The first guess that applies is added to the message, as one short sentence with a command to copy.
"""

from __future__ import annotations

import os

from tokcap.core.request import SUBCOMMANDS
from tokcap.lean.record import TYPE_CHECKING
from tokcap.store.handles import is_whole_handle, split_offset
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from tokcap.core.request import Request
    from tokcap.errors import CommandNotExecutable, CommandNotFound

# What editors and chat programs make of a hyphen, and of quotes.
DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
CURLY_QUOTES = "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a"
# Characters that only a shell understands.
SHELL_SYNTAX = frozenset(" \t\n|&;<>()$`*?[]{}!\\\"'")
# Words that a shell runs itself.
BUILTINS = frozenset(
    [
        *(".", "alias", "bg", "cd", "command", "declare", "eval", "exit", "export", "fg", "for", "function"),
        *("hash", "history", "if", "jobs", "local", "popd", "pushd", "read", "readonly", "set", "shopt"),
        *("source", "time", "trap", "type", "ulimit", "umask", "unalias", "unset", "until", "wait", "while"),
    ]
)
# Names that other wrappers have for running a command.
RUN_WORDS = frozenset(("run", "exec", "execute", "cmd", "wrap", "cap", "limit", "start"))
# Names that other tools have for what a subcommand does.
OTHER_NAMES = {
    "get": "show",
    "more": "show",
    "next": "show",
    "page": "show",
    "view": "show",
    "list": "spill list",
    "outputs": "spill list",
    "gc": "spill gc",
    "session": "budget",
    "sessions": "budget list",
    "status": "budget status",
    "usage": "stats",
    "config": "doctor --write-config",
    "check": "doctor",
    "serve": "mcp",
    "server": "mcp",
}
# Longer commands are not repeated.
LONGEST_CALL_CHARACTERS = 100


def with_hint(
    error: CommandNotFound | CommandNotExecutable, request: Request
) -> CommandNotFound | CommandNotExecutable:
    """Return the error of a command that cannot be started, with what may have been meant."""
    guesses = (
        typography,
        stored_output,
        number,
        option_after_dashes,
        wrapper_word,
        help_wanted,
        shell_line,
        existing_path,
        subcommand,
    )
    hint = ""
    for guess in guesses:
        if request.command[0] and (hint := guess(request)):
            break
    return type(error)(f"{error}; {hint}") if hint else error


def typography(request: Request) -> str:
    """Find `–n` with a dash that is not a hyphen, and curly quotes."""
    name = request.command[0]
    bare = name.lstrip(DASHES + "-")
    if name[0] in DASHES:
        return f"{name[0]} is not a hyphen, did you mean {'-' if len(bare) < 2 else '--'}{bare}?"
    if set(CURLY_QUOTES).intersection(name):
        return "curly quotes do not quote in a shell; write ' or \""
    return ""


def number(request: Request) -> str:
    """Find `tokcap 500 ls`."""
    name, *rest = request.command
    digits = name.rstrip("kKmM")
    if not digits.isascii() or not digits.translate({ord(ch): None for ch in ",._"}).isdigit():
        return ""
    return call_hint("to cap at that many tokens", "-n", name, *(rest or ["COMMAND"]))


def stored_output(request: Request) -> str:
    """Find `tokcap @last` and `tokcap lake917365018@464`."""
    name = request.command[0]
    if name.startswith("@") or is_whole_handle(split_offset(name)[0]):
        return call_hint("to see a stored output", "show", *request.command)
    return ""


def option_after_dashes(request: Request) -> str:
    """Find `tokcap -- -n 500 ls`."""
    name = request.command[0]
    if name == "--":
        return "one -- is enough"
    if name == "-":
        return "to cap standard input, leave - out"
    if name.startswith("-"):
        return call_hint("options of tokcap come before --", *options_of(request), *request.command)
    return ""


def wrapper_word(request: Request) -> str:
    """Find `tokcap run ls` and `tokcap exec -- ls`."""
    name, *rest = request.command
    rest = rest[1:] if rest[:1] == ["--"] else rest
    if name not in RUN_WORDS or not rest:
        return ""
    return call_hint("name the command itself", *options_of(request), "--", *rest)


def help_wanted(request: Request) -> str:
    """Find `tokcap help show`."""
    name, *rest = request.command
    about = [word for word in rest[:1] if word in SUBCOMMANDS]
    return f"did you mean tokcap {' '.join((*about, '--help'))}?" if name == "help" else ""


def shell_line(request: Request) -> str:
    """Find a command line in one word, a command of the shell itself, and `NAME=value command`."""
    name, *rest = request.command
    if os.path.exists(name):
        return ""
    before, equals, _ = name.partition("=")
    if equals and before.isidentifier():
        return call_hint("to set a variable", *options_of(request), "--", "env", *request.command)
    if name in BUILTINS:
        return call_hint("it belongs to the shell", *options_of(request), "-c", " ".join(request.command))
    if not rest and SHELL_SYNTAX.intersection(name) and name.replace("\n", "").isprintable():
        name = "STRING" if "\n" in name else name
        return call_hint("to run a shell command line", *options_of(request), "-c", name)
    return ""


def existing_path(request: Request) -> str:
    """Find a file or a directory of the current directory where the command should be."""
    name, *rest = request.command
    if os.path.isdir(name):
        return call_hint("to list a directory", *options_of(request), "--", "ls", *request.command)
    if not os.path.isfile(name):
        return ""
    if os.access(name, os.X_OK):
        return (
            call_hint("to run a file of this directory", *options_of(request), "./" + name, *rest)
            if "/" not in name
            else ""
        )
    if request.token_count:
        return call_hint("to count the tokens of a file", "count", *request.command)
    if rest:
        return call_hint("to cap the content of files", *options_of(request), "--", "cat", *request.command)
    return (
        f"it is a file, to cap its content: {' '.join(('tokcap', *options_of(request), '<', quoted(name)))}"
    )


def subcommand(request: Request) -> str:
    """Find a misspelt subcommand, and the names that other tools have for it."""
    from tokcap.core.spelling import nearest

    name = request.command[0]
    meant = OTHER_NAMES.get(name) or nearest(name, (*SUBCOMMANDS, "--help", "--version"))
    return f"did you mean tokcap {meant}?" if meant else ""


def options_of(request: Request) -> tuple[str, ...]:
    """Return the options that most calls have, so that a hint can be copied."""
    limit: tuple[str, ...] = () if request.token_limit is None else ("-n", str(request.token_limit))
    if request.session:
        # The limit comes from its budget.
        limit = ("--session", request.session)
    return (*limit, "--token-count") if request.token_count else limit


def call_hint(why: str, *words: str) -> str:
    """Return `to list it: tokcap ls docs`; without the call if that is long."""
    call = " ".join(("tokcap", *map(quoted, words)))
    if len(call) > LONGEST_CALL_CHARACTERS:
        call = " ".join(("tokcap", *map(quoted, words[:2]), "..."))
    return f"{why}: {call}"
