"""What can follow the words of a command line, for somebody who has pressed TAB.

The scripts for bash, zsh and fish pass on the words up to the cursor. The answer is one line that says what
kind of word is expected, then one line for each candidate: the word, a tab and a description. A person waits
for it, so it does not wait for other processes, creates nothing, and is empty on errors, which show when the
command itself is run.
"""

from __future__ import annotations

from tokcap import exits
from tokcap.cli.arguments import config_of
from tokcap.cli.options import by_flag
from tokcap.core.request import SUBCOMMANDS
from tokcap.core.units import age_of, printable, size_of
from tokcap.errors import TokcapError
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tokcap.cli.description import Argument, Command
    from tokcap.cli.options import Option
    from tokcap.environment import Environment
    from tokcap.store.base import ListedOutput

# More than a person reads. More characters bring up handles that are not among them.
MOST_HANDLES = 100
DESCRIPTION_WIDTH = 60
# Other processes lock the ledger for about a millisecond each.
PATIENCE_SECONDS = 0.2


class Candidates(Record):
    """What is expected at the cursor."""

    # `words`, `files`, or `command N`: what begins at word N is completed as if it stood alone.
    kind: str = "words"
    words: Iterable[tuple[str, str]] = ()


NOTHING = Candidates()


class CompletionWords:
    """`tokcap completion words -- WORD... CURRENT`, which the completion scripts call."""

    def answer(self, words: Sequence[str], env: Environment) -> int:
        """Write what can be at the place of the last word."""
        lines = []
        try:
            found = candidates(words[words[:1] == ("--",) :], env)
            lines.append(f"{found.kind}\n")
            for word, description in found.words:
                # A key of the config file may contain a line break.
                if word.isprintable():
                    lines.append(f"{word}\t{printable(description, DESCRIPTION_WIDTH)}\n")
        except (TokcapError, OSError):
            pass
        env.write_stdout("".join(lines).encode("utf-8", "replace"))
        return exits.OK


WORDS = CompletionWords()


def candidates(words: Sequence[str], env: Environment) -> Candidates:
    """Return what can be at the place of the last word; `words` begins after `tokcap`."""
    from tokcap.cli.catalog import RUN, commands_of

    *before, current = words or ("",)
    # Options before a subcommand are refused, so a subcommand can only be the first word.
    if not before or before[0] not in SUBCOMMANDS:
        return of_command(RUN, before, current, env)
    name, *rest = before
    commands = {command.path: command for command in commands_of(name)}
    below = [(command.path[1], command.summary) for command in commands.values() if command.path[1:]]
    if rest and (command := commands.get((name, rest[0]))):
        return of_command(command, rest[1:], current, env)
    if command := commands.get((name,)):
        found = of_command(command, rest, current, env)
        return found if rest or current.startswith("-") else found.replace(words=[*below, *found.words])
    return NOTHING if rest else Candidates(words=below)


def of_command(command: Command, before: Sequence[str], current: str, env: Environment) -> Candidates:
    """Return what can follow some words of one command."""
    options = by_flag(command.options)
    is_run, place, position, ended = not command.path, 0, 0, False
    while position < len(before):
        word = before[position]
        position += 1
        if ended or not word.startswith("-") or word == "-":
            if is_run:
                return Candidates(f"command {position}")
            place += 1
        elif word == "--":
            ended = True
        elif is_run and begins_string(word, options):
            # The words that follow belong to the shell.
            return NOTHING
        elif word in options and options[word].takes_value:
            position += 1
    if position > len(before):
        return value_of(options[before[-1]], current, "", env)
    if not ended and current.startswith("-"):
        name, equals, _ = current.partition("=")
        attached = name + equals if equals else current[:2]
        has_value = equals or (current[1:2] != "-" and len(current) > 2)
        if has_value and (option := options.get(attached.rstrip("="))) and option.takes_value:
            return value_of(option, current[len(attached) :], attached, env)
        return Candidates(words=spellings_of(command.options))
    if is_run:
        first = SUBCOMMANDS.items() if not before else ()
        return Candidates(f"command {len(before) + 1}", first)
    return value_of_argument(command.arguments, place, current, env)


def begins_string(word: str, options: dict[str, Option]) -> bool:
    """Return whether a word is `-c`, or shell flags that end in it: `-lc`."""
    return word[1:2] != "-" and word.endswith("c") and (word == "-c" or word[:2] not in options)


def spellings_of(options: Iterable[Option]) -> Iterator[tuple[str, str]]:
    for option in options:
        for spelling in option.spellings:
            yield spelling, option.brief
        if option.negation:
            yield option.negation, f"turn {option.flag} off"


def value_of(option: Option, beginning: str, attached: str, env: Environment) -> Candidates:
    """Return what the value of an option can be; `attached` is the option, if it is in the same word."""
    found = offered(option.choices, option.names, beginning, env)
    return found.replace(words=[(attached + word, description) for word, description in found.words])


def value_of_argument(
    arguments: Sequence[Argument], place: int, beginning: str, env: Environment
) -> Candidates:
    if not arguments or (place >= len(arguments) and not arguments[-1].repeatable):
        return NOTHING
    argument = arguments[min(place, len(arguments) - 1)]
    return offered(argument.choices, argument.names, beginning, env)


def offered(choices: Sequence[str], names: str, beginning: str, env: Environment) -> Candidates:
    if choices:
        return Candidates(words=[(word, "") for word in choices])
    if names == "files":
        return Candidates("files")
    return Candidates(words=KINDS[names](beginning, env)) if names else NOTHING


def handles(beginning: str, env: Environment) -> Iterator[tuple[str, str]]:
    """Yield stored outputs, the latest first, and the name that means the latest."""
    from tokcap.cli.reply import with_store
    from tokcap.store import caller_of, open_store
    from tokcap.store.base import LATEST
    from tokcap.store.running import SIGN, outputs, roots_of

    store, now = open_store(with_store(env)), env.now()
    for one in outputs(roots_of(env)) if beginning[:1] == SIGN else ():
        if one.running.runs:
            yield one.running.name, f"runs: {' '.join(one.running.command)}"
    if LATEST.startswith(beginning) and (last := store.last(caller_of(env))):
        yield LATEST, f"the latest: {entry_text(last, now)}"
    for entry in store.latest(MOST_HANDLES, beginning):
        yield entry.handle, entry_text(entry, now)


def entry_text(entry: ListedOutput, now: float) -> str:
    age = age_of(now - entry.stored_at)
    if entry.record is None:
        return f"{age}, {size_of(entry.size_bytes)}"
    size = size_of(sum(entry.record.stored_bytes.values()))
    command = " ".join(entry.record.command or ())
    return printable(f"{age}, {size}, {command}".removesuffix(", "), DESCRIPTION_WIDTH)


def sessions(_: str, env: Environment) -> Iterator[tuple[str, str]]:
    """Yield running sessions, and what each has used."""
    from tokcap.budget import open_ledger
    from tokcap.cli.reply import with_ledger

    for session in open_ledger(with_ledger(env), PATIENCE_SECONDS).list():
        total = session.account.total
        of = "" if total is None else f" of {total}"
        yield session.name, f"{session.account.used}{of} tokens used"


def models(_: str, env: Environment) -> Iterator[tuple[str, str]]:
    """Yield models of the user's own table, then those that tokcap knows."""
    from tokcap.tokens.models import MODELS

    try:
        own = config_of(env).models
    except TokcapError:
        own = {}
    for name, model in {**own, **MODELS, **own}.items():
        window = model.context_window
        yield name, f"{window} tokens" if window else "window unknown"


def tokenizers(_: str, env: Environment) -> Iterator[tuple[str, str]]:
    """Yield added tokenizers, then those that work on every machine."""
    from tokcap.tokens import tokenizer_names
    from tokcap.tokens.added import names

    for name in names(env):
        yield name, "added"
    for name in tokenizer_names():
        yield name, "included"


def agents(_: str, env: Environment) -> Iterator[tuple[str, str]]:
    """Yield the agents that have a hook."""
    from tokcap.hooks import AGENTS

    for name in AGENTS:
        yield name, "agent"


KINDS: dict[str, Callable[[str, Environment], Iterator[tuple[str, str]]]] = {
    "handles": handles,
    "sessions": sessions,
    "models": models,
    "tokenizers": tokenizers,
    "agents": agents,
}
