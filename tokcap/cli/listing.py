"""List names for completion: one line for each, with the name, a tab and a description.

A person who pressed TAB waits for it. So it loads little, does not wait for other processes, creates nothing,
and on errors it prints nothing: the error shows when the command itself is run.
"""

from __future__ import annotations

from tokcap import exits
from tokcap.core.units import age_of, printable, size_of
from tokcap.errors import TokcapError, UsageError
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tokcap.environment import Environment
    from tokcap.store.base import ListedOutput

# More than a person reads. More characters bring up handles that are not among them.
MOST_HANDLES = 100
DESCRIPTION_WIDTH = 60
# Other processes lock the ledger for about a millisecond each.
PATIENCE_SECONDS = 0.2


def run(arguments: Sequence[str], env: Environment) -> int:
    """Run `tokcap completion --list KIND [BEGINNING]`, which the completion scripts call."""
    kind, beginning = (*arguments, "", "")[:2]
    if kind not in KINDS:
        raise UsageError(f"completion: --list takes one of {', '.join(KINDS)}", of_a_subcommand=True)
    lines = []
    try:
        for name, description in KINDS[kind](beginning, env):
            # A key of the config file may contain a line break.
            if name.isprintable():
                lines.append(f"{name}\t{description}\n")
    except (TokcapError, OSError):
        pass
    env.write_stdout("".join(lines).encode("utf-8", "replace"))
    return exits.OK


def handles(beginning: str, env: Environment) -> Iterator[tuple[str, str]]:
    """Yield stored outputs, the latest first, and the name that means the latest."""
    from tokcap.cli.store import with_store
    from tokcap.store import caller_of, open_store
    from tokcap.store.base import LATEST

    store, now = open_store(with_store(env)), env.now()
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
    from tokcap.cli.ledger import with_ledger

    for session in open_ledger(with_ledger(env), PATIENCE_SECONDS).list():
        total = session.account.total
        of = "" if total is None else f" of {total}"
        yield session.name, f"{session.account.used}{of} tokens used"


def models(_: str, env: Environment) -> Iterator[tuple[str, str]]:
    """Yield models of the user's own table, then those that tokcap knows."""
    from tokcap.tokens.models import MODELS

    try:
        from tokcap.cli.values import config_of

        own = config_of(env).models
    except TokcapError:
        own = {}
    for name, model in {**own, **MODELS, **own}.items():
        window = model.context_window
        yield name, f"{window} tokens" if window else "window unknown"


def tokenizers(_: str, env: Environment) -> Iterator[tuple[str, str]]:
    """Yield added tokenizers, then those that work on every machine."""
    from tokcap.tokens import tokenizer_names

    yield from added(_, env)
    for name in tokenizer_names():
        yield name, "included"


def added(_: str, env: Environment) -> Iterator[tuple[str, str]]:
    """Yield the tokenizers that the user has added."""
    from tokcap.tokens.added import names

    for name in names(env):
        yield name, "added"


KINDS: dict[str, Callable[[str, Environment], Iterator[tuple[str, str]]]] = {
    "handles": handles,
    "sessions": sessions,
    "models": models,
    "tokenizers": tokenizers,
    "added": added,
}
