"""Commands as data: what the option table parses, and what help, man pages, completion and manifest show.

A command that agents and loops call is described where it is defined, and parsed by the option table. What
people type is a Typer application in `cli.commands`; `catalog` describes it in the same words.
"""

from __future__ import annotations

from tokcap import exits
from tokcap.cli.arguments import decoded, read_value, split_words
from tokcap.cli.options import by_flag
from tokcap.errors import UsageError
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokcap.cli.options import Names, Option
    from tokcap.environment import Environment

EXIT_MEANINGS = {
    exits.OK: "done",
    exits.NO: "the answer is no, or there is no such thing",
    exits.BAD_USAGE: "bad usage: nothing was done",
    exits.BUDGET_EXHAUSTED: "the budget is exhausted: nothing was done",
    exits.TIMED_OUT: "the command timed out",
    exits.OWN_FAILURE: "tokcap itself failed",
    exits.NOT_EXECUTABLE: "the command cannot be executed",
    exits.NOT_FOUND: "the command was not found",
}
EXIT_MEANINGS_OF_A_RUN = {
    "0-255": "the command's own status, unchanged; 0 for standard input",
    f"{exits.SIGNAL_BASE}+N": "the command was killed by signal N",
}


class Argument(Record):
    """One word that a command takes by its position."""

    metavar: str
    help: str
    required: bool = True
    repeatable: bool = False
    choices: tuple[str, ...] = ()
    # What a shell completes it with.
    names: Names = ""

    @property
    def spelled(self) -> str:
        """The argument as a usage line shows it: `[NAME]`, `HANDLE...`."""
        word = ("|".join(self.choices) or self.metavar) + ("..." if self.repeatable else "")
        return word if self.required else f"[{word}]"


class Command(Record):
    """One command: what it takes, what it does, and for the option table the function that does it."""

    # The words after `tokcap`; empty for `tokcap` itself.
    path: tuple[str, ...]
    # One sentence, and optional paragraphs.
    summary: str
    details: str = ""
    arguments: tuple[Argument, ...] = ()
    options: tuple[Option, ...] = ()
    # Examples, and what exit status 1 means here.
    epilog: str = ""
    exit_codes: tuple[int, ...] = (exits.OK, exits.NO, exits.BAD_USAGE, exits.OWN_FAILURE)
    # Whether options end at the first word that is none: the words are a command with its own options.
    ends_at_word: bool = False
    # Options that may be given several times. The handler gets a list.
    repeatable: tuple[str, ...] = ()
    # Takes the environment, and by name what was given; returns the exit status.
    handler: Callable[..., int] | None = None

    @property
    def name(self) -> str:
        """The command as it is typed: `tokcap budget start`."""
        return " ".join(("tokcap", *self.path))

    @property
    def usage(self) -> str:
        return " ".join((self.name, "[OPTIONS]", *(argument.spelled for argument in self.arguments)))

    @property
    def exit_meanings(self) -> dict[str, str]:
        """Every exit status, and what it means."""
        own = {str(code): EXIT_MEANINGS[code] for code in self.exit_codes}
        return own if self.path else EXIT_MEANINGS_OF_A_RUN | own

    def answer(self, words: Sequence[str], env: Environment) -> int:
        """Parse the words of a call by the option table, and do it."""
        split = split_words(words, by_flag(self.options), self.name, ends_at_word=self.ends_at_word)
        if split.wants_help:
            from tokcap.cli.catalog import with_help
            from tokcap.cli.help import command_help

            env.write_stdout(command_help(with_help(self), env.columns(env.stdout)).encode())
            return exits.OK
        if split.problems:
            raise UsageError(split.problems[0])
        assert self.handler is not None
        given: dict[str, object] = {}
        for option, raw in split.given:
            value = read_value(option.kind, raw, option.flag)
            before = given.get(option.key, ())
            given[option.key] = (*before, value) if option.key in self.repeatable else value  # type: ignore[misc]  # a tuple
        return self.handler(env, **given, **self.arguments_of(split.rest))

    def arguments_of(self, words: Sequence[str]) -> dict[str, str | tuple[str, ...]]:
        """Return the words that are not options, by the names of the arguments. Only the last can repeat."""
        found: dict[str, str | tuple[str, ...]] = {}
        for place, argument in enumerate(self.arguments):
            if argument.repeatable:
                return {**found, argument.metavar.lower(): tuple(words[place:])}
            if place < len(words):
                found[argument.metavar.lower()] = words[place]
            elif argument.required:
                raise UsageError(f"{argument.metavar} is missing: {argument.help}")
        if len(words) > len(self.arguments):
            extra = decoded(words[len(self.arguments)])
            raise UsageError(f"{extra!r} is an unexpected argument; see {self.name} --help")
        return found
