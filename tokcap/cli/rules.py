"""Rules of the user's `config.toml`: what applies to a command, or to a tool of an agent or a server.

    rule = rule_for(("git", "diff", "HEAD~1"), env)          # a command: its words
    rule = rule_for(("bash", "-c", "cd x && git diff"), env) # a shell line: the words of the shell
    rule = rule_for(("Read",), env)                          # a tool of an agent, by its name
    rule = rule_for(("github/search_issues",), env)          # a tool of an MCP server
    values = rule.beside(given) if rule else {}              # by option key, such as `token_limit`

Loaded only if there is a config file with rules. The config file of the working directory is never read.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase

from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from tokcap.core.request import Value
    from tokcap.environment import Environment

# A longer line is not a simple one.
MOST_CHARACTERS = 16_384
# How deep `bash -c` and `eval` are looked into.
MOST_SHELLS = 4
SHELLS = ("sh", "bash", "zsh", "dash", "ksh", "tokcap-sh", "tokcap-bash", "tokcap-zsh")
# They print nothing, or nothing that matters.
SILENT = frozenset(("cd", "export", "set", "unset", "unalias", "shopt", "setopt", "source", ".", ":", "true"))
SILENT |= {"sleep", "for", "trap", "exit", "[", "[[", "test"}
# They run the rest of their words.
WRAPPERS = frozenset(
    ("env", "sudo", "nice", "nohup", "time", "timeout", "command", "builtin", "exec", "stdbuf")
)
# Words of the shell before a command.
RESERVED = frozenset(("if", "then", "elif", "else", "fi", "while", "until", "do", "done", "{", "}", "!"))
# What they write at the end of a pipeline is what the command before them wrote, or a part of it.
PASSING = frozenset(("cat", "head", "tail", "tee"))
SEPARATORS = frozenset(";\n()")


class Rule(Record):
    """One `[[rule]]` of the config file."""

    # Its place in the file, from 1.
    number: int
    patterns: tuple[str, ...]
    # By the keys of options. With `pass = true` the limit is None.
    values: dict[str, Value]

    def beside(self, given: Collection[str]) -> dict[str, Value]:
        """Return the values of options that are not given. `keep` and `focus` belong together."""
        both = {"keep", "focus"}
        without = both.union(given) if both.intersection(given) else given
        return {key: value for key, value in self.values.items() if key not in without}

    def match(self, words: Sequence[str]) -> str:
        """Return the pattern that matches the beginning of a command; empty if none does."""
        return next((pattern for pattern in self.patterns if begins_with(words, pattern.split())), "")


def rule_for(subject: Sequence[str], env: Environment) -> Rule | None:
    """Return the rule that decides about a command or a tool; None if there is none.

    Raise `UsageError` if the config file is wrong.
    """
    from tokcap.cli.arguments import config_of

    return decisive(config_of(env).rules, subject)


def decisive(rules: Sequence[Rule], subject: Sequence[str]) -> Rule | None:
    """Return the first rule that matches. A shell line has one if all commands it shows agree."""
    found = {rule.number if rule else 0: rule for rule in (first(rules, one) for one in commands(subject))}
    return found.popitem()[1] if len(found) == 1 else None


def first(rules: Sequence[Rule], words: Sequence[str]) -> Rule | None:
    """Return the first rule that matches the words of one command or tool."""
    return next((rule for rule in rules if rule.match(words)), None)


def begins_with(words: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether the words begin as a pattern says.

    `*`, `?` and `[...]` stand for characters of one word, and the word `**` for any number of words. Options
    that the pattern does not name are passed over.
    """
    # Where in the pattern the words so far may have led to.
    places = with_skipped({0}, pattern)
    for number, word in enumerate(words):
        if len(pattern) in places:
            break
        is_option = number > 0 and word.startswith("-")
        stayed = {place for place in places if is_option or pattern[place] == "**"}
        texts = (word,) if number else spellings(word)
        moved = {place + 1 for place in places if any(fnmatchcase(text, pattern[place]) for text in texts)}
        places = with_skipped(stayed | moved, pattern)
    return len(pattern) in places


def with_skipped(places: set[int], pattern: Sequence[str]) -> set[int]:
    """Add the places behind each `**`, which also stands for no word."""
    for place in sorted(places):
        while pattern[place : place + 1] == ["**"]:
            place += 1
            places.add(place)
    return places


def spellings(name: str) -> tuple[str, ...]:
    """Return what a pattern can call a program or a tool: also the name of a path, `github/search_issues`."""
    if name.startswith("mcp__"):
        return (name, name[5:].replace("__", "/", 1))
    is_path = name.startswith(("/", ".", "~")) or name.count("/") > 1
    return (name, os.path.basename(name)) if is_path else (name,)


def commands(words: Sequence[str], depth: int = 0) -> list[list[str]]:
    """Return the commands whose output a command line shows: of a shell, those of its string."""
    from tokcap.cli.shell_flags import read_words

    words = without_wrappers(words)
    if not words or depth > MOST_SHELLS:
        return [[]] if words else []
    name = os.path.basename(words[0])
    if name == "eval":
        return in_line(" ".join(words[1:]), depth)
    if name in SHELLS:
        read = read_words(words[1:])
        rest = words[1 + read.position :]
        if "c" in read.letters and rest:
            return in_line(rest[0], depth)
    return [list(words)]


def without_wrappers(words: Sequence[str]) -> Sequence[str]:
    """Return a command without what is in front of it: assignments, `timeout 60`, `sudo -E`."""
    position, wrapped = 0, False
    for position, word in enumerate(words):
        name, equals, _ = word.partition("=")
        if os.path.basename(word) in WRAPPERS:
            wrapped = True
        elif not (equals and name.isidentifier()) and not (
            wrapped and (word[0:1] == "-" or word[0:1].isdigit())
        ):
            return words[position:]
    return ()


def in_line(line: str, depth: int) -> list[list[str]]:
    """Return the commands of a shell line whose output it shows; an empty one if the line is not simple."""
    # Agents prepare the shell before that, in up to 40 KB.
    line = line[line.rfind("\nexec ") + 1 :]
    found: list[list[str]] = []
    piped: list[list[str]] = []
    for words, is_piped, is_silent in stages(line):
        words = [*without_wrappers(words)]
        shown = [] if is_silent or not words or words[0] in SILENT else commands(words, depth + 1)
        if piped and shown and shown[0][:1] and shown[0][0] in PASSING:
            shown = piped
        piped = shown if is_piped else []
        found += [] if is_piped else [one for one in shown if one not in found]
    return found


def stages(line: str) -> Iterator[tuple[list[str], bool, bool]]:
    """Yield each command of a line: its words, and whether its output goes to a pipe, or to a file."""
    import shlex

    lexer = shlex.shlex(line.replace("\\\n", " "), posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t\r", "", True
    words: list[str] = []
    is_silent = is_target = False
    try:
        tokens = list(lexer) if len(line) <= MOST_CHARACTERS else ["\0"]
    except ValueError:
        # A quote is not closed.
        tokens = ["\0"]
    for token in (*tokens, ";"):
        if is_target:
            is_target = False
        elif not set(token) <= set("();<>|&\n") or not token:
            if words or token not in RESERVED:
                words.append(token)
        elif "<" in token or (">" in token and SEPARATORS.isdisjoint(token)):
            is_target = True
            number = words.pop() if words and words[-1].isdigit() else "1"
            is_silent = is_silent or (number == "1" and token in (">", ">>", ">|", "&>", "&>>"))
        else:
            if words and not words[0].startswith("#"):
                yield words, token in ("|", "|&"), is_silent
            words, is_silent = [], False
