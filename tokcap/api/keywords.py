"""Turn keyword arguments into a request, checked against the option table of the command line.

Only its arguments decide what a call does. `TOKCAP_*` variables and `config.toml` are not read, except for
settings that belong to the store: its directory, how long outputs are kept, and what is recorded about calls.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypedDict

from tokcap.cli.arguments import completed, decide, run_request, show_request
from tokcap.cli.config import value_of
from tokcap.cli.options import options_of
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
        OnLedgerFailure,
        Output,
        Repeat,
        Request,
        Shape,
        ShowRequest,
        SpillMode,
        StderrMode,
        Stream,
    )

# Short names, because these functions have no other limit or offset.
SHORT_NAMES = {"limit": "token_limit", "offset": "token_offset"}
STORE_SETTINGS = ("spill_days", "spill_total", "record_arguments")


class PageOptions(TypedDict, total=False):
    """Where windows begin and end. Names, meanings and defaults are those of the command-line options."""

    offset: int
    tokenizer: str
    shape: Shape
    align: Align
    sentinel: str
    fields: str | Sequence[str]
    exact_total: bool


class ViewOptions(PageOptions, total=False):
    """How an output is shown."""

    keep: Keep
    focus: str
    ask: str
    mode: Mode
    output: Output
    token_count: bool
    session: str | None
    store: str
    ledger: str
    ledger_file: str
    on_ledger_failure: OnLedgerFailure
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
    """How an output is filtered and stored."""

    clean: bool
    redact: bool
    spill: SpillMode
    repeat: Repeat
    max_bytes: int | str
    spill_days: int
    spill_total: int | str


class ResultOptions(TypedDict, total=False):
    """What a model gets of the result of a tool."""

    tokenizer: str
    model: str
    shape: Shape
    keep: Keep
    focus: str
    ask: str
    fields: str | Sequence[str]
    mode: Mode
    clean: bool
    redact: bool
    spill: SpillMode
    max_bytes: int | str
    store: str


class RunOptions(CapOptions, total=False):
    """How a command is run."""

    stderr: StderrMode
    timeout: float | str | None
    kill_after: float | str
    kill_on_limit: bool
    record_arguments: bool


class ShowOptions(ViewOptions, total=False):
    """Which part of a stored output is shown."""

    stream: Stream
    pointer: str
    gaps: bool
    grep: str
    context: int
    clean: bool


def build_run_request(command: Sequence[str], options: Mapping[str, object]) -> Request:
    """Return the request to run a command, or to cap given text if `command` is empty."""
    chosen = checked_values(options, "run")
    ambient = ("account",) if chosen.get("spill") == "never" else ("account", *STORE_SETTINGS)
    return run_request(tuple(command), completed(with_ambient(chosen, ambient, "run"), "run", {}), chosen)


def build_show_request(handle: str, options: Mapping[str, object]) -> ShowRequest:
    """Return the request to show a stored output."""
    chosen = with_ambient(checked_values(options, "show"), ("account",), "show")
    return show_request(handle, completed(chosen, "show", {}), chosen)


def with_ambient(chosen: dict[str, Value], keys: Sequence[str], form: Form) -> dict[str, Value]:
    """Add the values of `keys` from variables and the config file, unless the caller has set them."""
    missing = [key for key in keys if key not in chosen]
    if not missing:
        return chosen
    ambient = decide((), form, Environment(os.environ))
    return {**{key: ambient[key] for key in missing}, **chosen}


def checked_values(options: Mapping[str, object], form: Form) -> dict[str, Value]:
    """Check the given values and return them by option key. None means the default."""
    table = {option.key: option for option in options_of(form)}
    chosen: dict[str, Value] = {}
    for name, value in options.items():
        option = table.get(SHORT_NAMES.get(name, name))
        if option is None or name in SHORT_NAMES.values():
            raise TypeError(f"unknown option {name!r}")
        if name == "fields" and isinstance(value, list | tuple):
            value = ",".join(value)
        if value is not None:
            try:
                chosen[option.key] = value_of(option.kind, value)
            except ValueError as error:
                raise UsageError(f"{name}: {error}") from None
    return chosen


def checked_argv(argv: Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    """Return the arguments of a command as strings. Refuse an empty list and a shell line."""
    if isinstance(argv, str | bytes):
        raise UsageError("argv must be a list of strings, not one string; for a shell: ['sh', '-c', STRING]")
    arguments = tuple(os.fspath(argument) for argument in argv)
    if not arguments:
        raise UsageError("argv is empty: there is no command to run")
    for argument in arguments:
        if not isinstance(argument, str) or "\0" in argument:
            raise UsageError(f"argv: {argument!r} cannot be an argument of a command")
    return arguments
