"""Keyword arguments in, one decided request out: the table of options, as Python sees it.

A call is what its arguments say. Neither `TOKCAP_*` variables nor `config.toml` change it, except in what is
the store's and not the call's: where it is, how long it keeps things, whether it writes down arguments and
keeps an account.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypedDict

from tokcap.cli.arguments import run_request, show_request
from tokcap.cli.config.reading import value_of
from tokcap.cli.options import options_of
from tokcap.cli.values import completed, decide
from tokcap.environment import Environment
from tokcap.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokcap.cli.kinds import Value
    from tokcap.cli.options import Form
    from tokcap.core.request import (
        Align,
        Keep,
        Mode,
        Output,
        Request,
        Shape,
        ShowRequest,
        SpillMode,
        StderrMode,
        Stream,
    )

# Named for short where a function has no other limit or offset.
SHORT_NAMES = {"limit": "token_limit", "offset": "token_offset"}
OF_THE_STORE = ("spill_days", "spill_total", "record_arguments")


class PageOptions(TypedDict, total=False):
    """Where windows lie; names, meanings and defaults are those of the command line's options."""

    offset: int
    tokenizer: str
    shape: Shape
    align: Align
    sentinel: str
    fields: str | Sequence[str]
    exact_total: bool


class ViewOptions(PageOptions, total=False):
    """How an output is looked at."""

    keep: Keep
    mode: Mode
    output: Output
    token_count: bool
    session: str
    turn: str
    model: str
    context_window: int | None
    result_pct: float
    turn_pct: float
    floor_tokens: int
    compact_before_spill: bool
    compact_hook: str
    account: bool


class CapOptions(ViewOptions, total=False):
    """What becomes of an output besides."""

    clean: bool
    redact: bool
    spill: SpillMode
    max_bytes: int | str
    spill_days: int
    spill_total: int | str


class RunOptions(CapOptions, total=False):
    """How a command is run."""

    stderr: StderrMode
    pty: bool
    timeout: float | str | None
    kill_after: float | str
    kill_on_limit: bool
    record_arguments: bool


class ShowOptions(ViewOptions, total=False):
    """What is shown of a stored output."""

    stream: Stream
    pointer: str
    grep: str
    context: int


def request_of(command: Sequence[str], options: Mapping[str, object]) -> Request:
    """One call of the wrapper form."""
    chosen = read(options, "run")
    of_the_store = ("account",) if chosen.get("spill") == "never" else ("account", *OF_THE_STORE)
    return run_request(tuple(command), completed(with_ambient(chosen, of_the_store, "run"), "run", {}))


def show_request_of(handle: str, options: Mapping[str, object]) -> ShowRequest:
    """One call of `show`."""
    chosen = with_ambient(read(options, "show"), ("account",), "show")
    return show_request(handle, completed(chosen, "show", {}))


def with_ambient(chosen: dict[str, Value], keys: Sequence[str], form: Form) -> dict[str, Value]:
    """The values that were given, and for these keys else what variables and the config file say."""
    missing = [key for key in keys if key not in chosen]
    if not missing:
        return chosen
    ambient = decide((), form, Environment(os.environ))
    return {**{key: ambient[key] for key in missing}, **chosen}


def read(options: Mapping[str, object], form: Form) -> dict[str, Value]:
    """The values that were given, each refused if it is none. None stands for the default."""
    table = {option.key: option for option in options_of(form)}
    chosen: dict[str, Value] = {}
    for name, value in options.items():
        option = table.get(SHORT_NAMES.get(name, name))
        if option is None or name in SHORT_NAMES.values():
            raise TypeError(f"there is no option {name!r}")
        if name == "fields" and isinstance(value, list | tuple):
            value = ",".join(value)
        if value is not None:
            try:
                chosen[option.key] = value_of(option, value)
            except ValueError as error:
                raise UsageError(f"{name}: {error}") from None
    return chosen


def words_of(argv: Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    """The words of a command; refused if there are none, or if it is a line for a shell."""
    if isinstance(argv, str | bytes):
        raise UsageError("argv is a list of words, not one string; for a shell: ['sh', '-c', STRING]")
    words = tuple(os.fspath(word) for word in argv)
    if not words:
        raise UsageError("argv is empty: there is no command to run")
    for word in words:
        if not isinstance(word, str) or "\0" in word:
            raise UsageError(f"no word of a command: {word!r}")
    return words
