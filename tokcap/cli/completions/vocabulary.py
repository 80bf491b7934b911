"""What can be typed where, as all three shells need it: read from the catalogue."""

from __future__ import annotations

from tokcap.cli.catalog import STRING
from tokcap.hooks import AGENTS
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.tokens import tokenizer_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.cli.catalog import Argument, Command, Flag, Group


class Offer(Record):
    """What is offered in one place: some words, or names listed while somebody types, or files."""

    words: tuple[str, ...] = ()
    listed: str = ""
    files: bool = False


NOTHING = Offer()


class Spelling(Record):
    """One way to write an option, or its negation."""

    word: str
    help: str
    flag: Flag
    # Whether a value follows, as the next word or attached.
    valued: bool


class Vocabulary(Record):
    """Every command, and the names that lead to them."""

    commands: tuple[Command, ...]
    groups: tuple[Group, ...]

    @property
    def wrapper(self) -> Command:
        return next(command for command in self.commands if not command.path)

    @property
    def subcommands(self) -> tuple[Command, ...]:
        return tuple(command for command in self.commands if command.path)

    def below(self, *path: str) -> dict[str, str]:
        """The words that may follow a group's name, or `tokcap` itself, each with what it does."""
        of_groups = {group.name: group.sentence for group in self.groups}
        found: dict[str, str] = {}
        for command in self.subcommands:
            if command.path[: len(path)] == path and len(command.path) > len(path):
                word = command.path[len(path)]
                leaf = len(command.path) == len(path) + 1
                found[word] = command.sentence if leaf else of_groups[word]
        return found

    def valued(self) -> list[str]:
        """All spellings that a value may follow as the next word, of any command; `-c` is no such thing."""
        spellings = (s for command in self.commands for s in spellings_of(command) if s.valued)
        return list(dict.fromkeys(s.word for s in spellings if s.flag != STRING))

    def valued_letters(self) -> list[str]:
        """Those of one letter: what follows the letter in the same word is its value."""
        return [word[1] for word in self.valued() if len(word) == 2]


def spellings_of(command: Command) -> Iterator[Spelling]:
    """Everything that begins with a dash."""
    for flag in command.flags:
        for word in flag.spellings:
            yield Spelling(word, flag.help, flag, bool(flag.expected))
        if flag.negation:
            yield Spelling(flag.negation, f"turn {flag.spellings[-1]} off again", flag, False)


def offer_for(item: Flag | Argument) -> Offer:
    """What an option's value or an argument may be, as far as anything can be suggested."""
    if item.choices:
        return Offer(item.choices)
    if item.names == "tokenizers":
        return Offer(tokenizer_names())
    if item.names == "agents":
        return Offer(tuple(AGENTS))
    if item.names == "files":
        return Offer(files=True)
    return Offer(listed=item.names)


def filled(template: str, **parts: str) -> str:
    """A template with its @names@ replaced; further lines of a part are indented as its first."""
    lines = []
    for line in template.split("\n"):
        indent = "\n" + line[: len(line) - len(line.lstrip())]
        for name, part in parts.items():
            line = line.replace(f"@{name}@", part.replace("\n", indent))
        lines.append(line)
    return "\n".join(lines)
