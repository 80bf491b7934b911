"""Find out what a shell command line does, without running it.

If the text is ambiguous, functions return the cautious result: None, or more words than there are. Callers
decide what to do with it.
"""

from __future__ import annotations

import os

from tokcap.system.shell import OWN_NAMES


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Words that begin more than a simple command.
KEYWORDS = word_set(
    "! if then elif else fi for while until do done case esac select function time coproc [[ ]] (("
)
# Words that can precede the program.
PREFIXES = word_set("exec command builtin env nohup")
# Commands that change the shell's directory, or can.
DIRECTORY_CHANGERS = word_set("cd pushd popd chdir eval")
# Commands that change the shell and print nothing worth capping.
SHELL_CHANGERS = DIRECTORY_CHANGERS | word_set(
    "export unset alias unalias set shopt setopt unsetopt declare typeset readonly local source . "
    "umask ulimit trap hash exec"
)
BUILTINS = SHELL_CHANGERS | word_set(
    ": [ echo printf test true false pwd read type command builtin kill wait jobs times getopts let "
    "shift return exit break continue bg fg fc disown suspend"
)

OPERATORS, QUOTES = ";&|()<>{}`!\r\n", "'\"\\"
WITHOUT_SYNTAX = str.maketrans({**dict.fromkeys(OPERATORS, " "), **dict.fromkeys(QUOTES)})


def bare_words(command: str) -> list[str]:
    """Return everything that could be a word, without quotes and backslashes."""
    return command.replace("\\\n", "").translate(WITHOUT_SYNTAX).split()


def simple_commands(command: str) -> list[list[str]] | None:
    """Return the words of each simple command; None if the command is more than a list of pipelines."""
    parsed = parse_simple_commands(command)
    return None if parsed is None else parsed[0]


def parse_simple_commands(command: str) -> tuple[list[list[str]], set[str]] | None:
    """Return the simple commands and the operators between them; None if there is anything else."""
    commands: list[list[str]] = [[]]
    operators: set[str] = set()
    word: str | None = None
    to_skip = False  # the next word is the target of a redirection
    at = 0

    def end_word() -> None:
        nonlocal word, to_skip
        if word is not None and not to_skip:
            commands[-1].append(word)
        if word is not None:
            to_skip = False
        word = None

    while at < len(command):
        ch = command[at]
        following = command[at + 1 : at + 2]
        if ch == "'":
            end = command.find("'", at + 1)
            if end < 0:
                return None
            word = (word or "") + command[at + 1 : end]
            at = end + 1
        elif ch == '"':
            inside = double_quoted(command, at + 1)
            if inside is None:
                return None
            word = (word or "") + inside[0]
            at = inside[1]
        elif ch == "\\":
            if not following:
                return None
            if following != "\n":
                word = (word or "") + following
            at += 2
        elif (
            ch in "`(){}" or (ch == "$" and following in ("(", "{", "'", '"')) or (ch == "#" and word is None)
        ):
            return None
        elif ch in "<>" or (ch == "&" and following == ">"):
            if following == "(" or command.startswith("<<", at):
                return None
            if word is not None and word.isdigit():
                word = None
            end_word()
            while at < len(command) and command[at] in "<>&|":
                at += 1
            to_skip = True
        elif ch in ";&|\n":
            end_word()
            commands.append([])
            operator = ch + following if following and ch + following in ("&&", "||", "|&", ";;") else ch
            operators.add(operator)
            at += len(operator)
        elif ch == "\r":
            return None
        elif ch in " \t":
            end_word()
            at += 1
        else:
            word = (word or "") + ch
            at += 1
    end_word()
    found = [words for words in commands if words]
    return None if any(words[0] in KEYWORDS for words in found) else (found, operators)


def double_quoted(command: str, at: int) -> tuple[str, int] | None:
    """Return the text up to the closing quote and the offset after it; None if it runs a command."""
    text = ""
    while at < len(command):
        ch = command[at]
        if ch == '"':
            return text, at + 1
        if ch == "`" or command.startswith("$(", at):
            return None
        if ch == "\\" and command[at + 1 : at + 2] in ("$", "`", '"', "\\", "\n"):
            text += command[at + 1].strip("\n")
            at += 2
        else:
            text += ch
            at += 1
    return None


def programs(command: str) -> list[str] | None:
    """Return the program of each simple command, without assignments and prefixes such as `env`."""
    commands = simple_commands(command)
    if commands is None:
        return None
    found = []
    for words in commands:
        rest = [word for word in words if not is_assignment(word)]
        while len(rest) > 1 and rest[0] in PREFIXES:
            if rest[1].startswith("-"):
                return None  # an option of the prefix may take a value, or change what runs
            rest = rest[1:]
        found += rest[:1]
    return found


def is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def runs_tokcap(command: str) -> bool:
    """Return whether a part of the command runs tokcap already, or might."""
    found = programs(command)
    words = bare_words(command) if found is None else found
    return any(os.path.basename(word) in OWN_NAMES for word in words)


def changes_directory(command: str) -> bool:
    """Return whether the command may change the shell's directory."""
    found = programs(command)
    return not DIRECTORY_CHANGERS.isdisjoint(bare_words(command) if found is None else found)


def only_changes_the_shell(command: str) -> bool:
    """Return whether the command consists only of `export`, `source`, `alias` and similar."""
    found = programs(command)
    return found is not None and all(word in SHELL_CHANGERS for word in found)


def split_after_cd(command: str) -> tuple[str, str] | None:
    """Split `cd DIR && REST` into `cd DIR &&` and REST; None if REST could run elsewhere than in DIR."""
    head, operator, rest = command.partition("&&")
    first = simple_commands(head)
    if not operator or first is None or len(first) != 1 or len(first[0]) != 2 or first[0][0] != "cd":
        return None
    # With any other operator, a part of REST would run even if `cd` failed.
    parsed = parse_simple_commands(rest)
    if parsed is None or not parsed[1] <= {"&&", "|", "|&"}:
        return None
    found = programs(rest)
    if not found or not DIRECTORY_CHANGERS.isdisjoint(found):
        return None
    return f"{head}&&", rest.strip()


def runs_in_background(command: str) -> bool:
    """Return whether a part of the command may keep running after the command has returned."""
    parsed = parse_simple_commands(command)
    if parsed is not None:
        return "&" in parsed[1]
    single = command.replace("&&", "").replace(">&", "").replace("<&", "").replace("&>", "").replace("|&", "")
    return "&" in single


def can_be_found(word: str, path: str) -> bool:
    """Return whether a shell without the agent's aliases and functions finds the program too."""
    if word in BUILTINS:
        return True
    if "/" in word or "$" in word or "~" in word:
        return True
    return any(
        os.access(os.path.join(directory, word), os.X_OK) for directory in path.split(os.pathsep) if directory
    )


def find_program(name: str, path: str) -> str:
    """Return the path of a program, or an empty string if it is not on PATH."""
    for directory in path.split(os.pathsep):
        found = os.path.join(directory, name)
        if os.path.isabs(found) and os.access(found, os.X_OK) and os.path.isfile(found):
            return found
    return ""
