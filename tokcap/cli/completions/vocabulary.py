"""What can be typed where, for all three shells; read from the catalog."""

from __future__ import annotations

from tokcap.cli.catalog import STRING, all_commands, all_groups
from tokcap.hooks import AGENTS
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.cli.description import Argument, Command, Flag, Group


class Offer(Record):
    """What is offered in one place: some words, or names that tokcap lists, or files."""

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
    """All commands and groups."""

    commands: tuple[Command, ...]
    groups: tuple[Group, ...]

    @property
    def wrapper(self) -> Command:
        return next(command for command in self.commands if not command.path)

    @property
    def subcommands(self) -> tuple[Command, ...]:
        return tuple(command for command in self.commands if command.path)

    def below(self, *path: str) -> dict[str, str]:
        """Return the words that may follow the name of a group or `tokcap`, with what they do."""
        of_groups = {group.name: group.sentence for group in self.groups}
        found: dict[str, str] = {}
        for command in self.subcommands:
            if command.path[: len(path)] == path and len(command.path) > len(path):
                word = command.path[len(path)]
                leaf = len(command.path) == len(path) + 1
                if leaf or word in of_groups:
                    found[word] = command.sentence if leaf else of_groups[word]
        return found

    @property
    def parents(self) -> tuple[Command, ...]:
        """Commands that have others below them: `tokcap mcp` has `tokcap mcp wrap`."""
        return tuple(command for command in self.subcommands if self.below(*command.path))

    def valued(self) -> list[str]:
        """Return all spellings, of any command, that take the next word as value, except `-c`."""
        spellings = (s for command in self.commands for s in spellings_of(command) if s.valued)
        return list(dict.fromkeys(s.word for s in spellings if s.flag != STRING))

    def valued_letters(self) -> list[str]:
        """Return the letters after which the rest of the same word is the value."""
        return [word[1] for word in self.valued() if len(word) == 2]


def vocabulary_of_tokcap() -> Vocabulary:
    """Return the vocabulary of all commands of tokcap."""
    return Vocabulary(all_commands(), all_groups())


def spellings_of(command: Command) -> Iterator[Spelling]:
    """Return all words that begin with a dash."""
    for flag in command.flags:
        for word in flag.spellings:
            yield Spelling(word, flag.help, flag, bool(flag.expected))
        if flag.negation:
            yield Spelling(flag.negation, f"turn {flag.spellings[-1]} off", flag, False)


def offer_for(item: Flag | Argument) -> Offer:
    """Return what can be suggested for the value of an option, or for an argument."""
    if item.choices:
        return Offer(item.choices)
    if item.names == "agents":
        return Offer(tuple(AGENTS))
    if item.names == "files":
        return Offer(files=True)
    return Offer(listed=item.names)


def filled(template: str, **parts: str) -> str:
    """Replace the @names@ in a template; all lines of a part are indented like its first."""
    lines = []
    for line in template.split("\n"):
        indent = "\n" + line[: len(line) - len(line.lstrip())]
        for name, part in parts.items():
            line = line.replace(f"@{name}@", part.replace("\n", indent))
        lines.append(line)
    return "\n".join(lines)
