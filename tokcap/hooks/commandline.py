"""What can be told of a command line without running it.

Where that is uncertain the answer is the careful one: None, or more words than there are. Nothing here
decides what to do about it.
"""

from __future__ import annotations

import os


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Words that begin something larger than a simple command.
KEYWORDS = word_set(
    "! if then elif else fi for while until do done case esac select function time coproc [[ ]] (("
)
# Words that only stand in front of the program.
PREFIXES = word_set("exec command builtin env nohup")
# What moves the shell itself to another directory, or can.
MOVES = word_set("cd pushd popd chdir eval")
# What changes the shell and prints nothing worth capping.
LASTING = MOVES | word_set(
    "export unset alias unalias set shopt setopt unsetopt declare typeset readonly local source . "
    "umask ulimit trap hash exec"
)
BUILTINS = LASTING | word_set(
    ": [ echo printf test true false pwd read type command builtin kill wait jobs times getopts let "
    "shift return exit break continue bg fg fc disown suspend"
)

OPERATORS, QUOTES = ";&|()<>{}`!\r\n", "'\"\\"
BARE = str.maketrans({**dict.fromkeys(OPERATORS, " "), **dict.fromkeys(QUOTES)})


def bare_words(command: str) -> list[str]:
    """Everything that could be a word, without quotes and backslashes: rather too many than too few."""
    return command.replace("\\\n", "").translate(BARE).split()


def simple_commands(command: str) -> list[list[str]] | None:
    """The words of each simple command in a list or pipeline of such; None if it is anything more."""
    parsed = taken_apart(command)
    return None if parsed is None else parsed[0]


def taken_apart(command: str) -> tuple[list[list[str]], set[str]] | None:
    """Its simple commands, and the operators between them; None if it is more than a list of pipelines."""
    commands: list[list[str]] = [[]]
    operators: set[str] = set()
    word: str | None = None
    to_skip = False  # the next word is where a redirection goes
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
    """What stands between double quotes, and where it goes on; None if something is run inside them."""
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


def leading_words(command: str) -> list[str] | None:
    """The program of each simple command, assignments and `exec`, `env` and the like passed over."""
    commands = simple_commands(command)
    if commands is None:
        return None
    leads = []
    for words in commands:
        rest = [word for word in words if not is_assignment(word)]
        while len(rest) > 1 and rest[0] in PREFIXES:
            if rest[1].startswith("-"):
                return None  # an option of the prefix may take a value, or change what is run
            rest = rest[1:]
        leads += rest[:1]
    return leads


def is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def runs_tokcap(command: str) -> bool:
    """Whether some of it runs under tokcap already, or might."""
    leads = leading_words(command)
    words = bare_words(command) if leads is None else leads
    return any(os.path.basename(word) in ("tokcap", "tokcap-sh") for word in words)


def moves_the_shell(command: str) -> bool:
    """Whether the shell may stand in another directory afterwards."""
    leads = leading_words(command)
    return not MOVES.isdisjoint(bare_words(command) if leads is None else leads)


def only_changes_the_shell(command: str) -> bool:
    """Whether it is nothing but `export`, `source`, `alias` and the like."""
    leads = leading_words(command)
    return leads is not None and all(word in LASTING for word in leads)


def split_at_move(command: str) -> tuple[str, str] | None:
    """`cd DIR && REST` as `cd DIR &&` and REST, if REST runs only after the move and does not move itself."""
    head, operator, rest = command.partition("&&")
    moves = simple_commands(head)
    if not operator or moves is None or len(moves) != 1 or len(moves[0]) != 2 or moves[0][0] != "cd":
        return None
    # After any other operator, part of REST would run although the move had failed.
    parsed = taken_apart(rest)
    if parsed is None or not parsed[1] <= {"&&", "|", "|&"}:
        return None
    leads = leading_words(rest)
    if not leads or not MOVES.isdisjoint(leads):
        return None
    return f"{head}&&", rest.strip()


def runs_in_background(command: str) -> bool:
    """Whether something may go on running after the command has returned."""
    parsed = taken_apart(command)
    if parsed is not None:
        return "&" in parsed[1]
    single = command.replace("&&", "").replace(">&", "").replace("<&", "").replace("&>", "").replace("|&", "")
    return "&" in single


def can_be_found(word: str, path: str) -> bool:
    """Whether another shell would find the program too; it has no alias or function of the agent's shell."""
    if word in BUILTINS:
        return True
    if "/" in word or "$" in word or "~" in word:
        return True
    return any(
        os.access(os.path.join(directory, word), os.X_OK) for directory in path.split(os.pathsep) if directory
    )


def find_program(name: str, path: str) -> str:
    """Where a program lies; empty if it is nowhere on PATH."""
    for directory in path.split(os.pathsep):
        found = os.path.join(directory, name)
        if os.path.isabs(found) and os.access(found, os.X_OK) and os.path.isfile(found):
            return found
    return ""
