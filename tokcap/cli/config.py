"""Read the values, models and rules of the user's `config.toml`, and tell what is wrong with it.

Loaded only if there is such a file. `tomllib` is the reader.
"""

from __future__ import annotations

import os
import tomllib
from typing import TYPE_CHECKING, Any

from tokcap.cli.arguments import with_focus
from tokcap.cli.kinds import Duration, Fraction, Name, Switch, WholeNumber, shortened
from tokcap.cli.options import BY_KEY, OPTIONS
from tokcap.cli.rules import Rule
from tokcap.core.request import DEFAULTS
from tokcap.core.spelling import nearest
from tokcap.errors import UsageError
from tokcap.startup.record import Record
from tokcap.tokens.models import Model

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokcap.cli.kinds import Kind, Value
    from tokcap.environment import Environment

LARGEST_CONFIG_BYTES = 1 << 20
MODELS, RULE = "models", "rule"
MODEL_KINDS: dict[str, Kind] = {
    "context_window": WholeNumber(minimum=1),
    "tokenizer": Name(expected="the name of a tokenizer"),
}
# The keys of a rule besides `match` and `pass`, and their options.
RULE_KEYS = {
    "limit": "token_limit",
    **{key: key for key in ("keep", "focus", "fields", "shape", "clean", "redact", "mode", "spill")},
}
# With `pass = true` the output is passed on whole.
PASS: dict[str, Value] = {"token_limit": None, "fields": "", "mode": "raw"}
SECTIONS = tuple(sorted({option.section for option in OPTIONS if option.section}))
KNOWN = [f"{option.section}.{option.key}".lstrip(".") for option in OPTIONS if option.ambient]
KNOWN += [*SECTIONS, MODELS, RULE]


class Contents(Record):
    """What a config file says, and what is wrong with it."""

    values: dict[str, Value]
    models: dict[str, Model]
    problems: tuple[str, ...]
    rules: tuple[Rule, ...] = ()


def read_file(env: Environment) -> Contents | None:
    """Return what the config file says; None if there is no file, `UsageError` if anything in it is wrong."""
    data = config_bytes(env)
    return read_config(data, env.config_file()) if data else None


def config_bytes(env: Environment) -> bytes:
    """Return the content of the config file; empty if there is no file."""
    path = env.config_file()
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        # A home directory of somebody else cannot be searched; then there is no file for us either.
        if env.variables.get("TOKCAP_CONFIG"):
            raise UsageError(f"TOKCAP_CONFIG: there is no file {path}") from None
        return b""
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST_CONFIG_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    if len(data) > LARGEST_CONFIG_BYTES:
        raise UsageError(f"{path}: too large for a config file")
    return data


def read_config(data: bytes, path: str) -> Contents:
    """Return what the file says; `UsageError` with the first wrong key if anything is wrong."""
    found = contents_of(parsed(data, path))
    if found.problems:
        raise UsageError(f"{path}: {found.problems[0]}")
    return found


def parsed(data: bytes, path: str) -> dict[str, object]:
    """Return the parsed TOML."""
    try:
        text = data.decode("utf-8-sig")
        return tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}:{line}: is not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        # `Invalid value (at line 3, column 7)`, or `(at end of document)`.
        problem, _, place = str(error).rstrip(")").rpartition(" (at ")
        where, _, column = place.removeprefix("line ").partition(", ")
        if not where.isdigit():
            where, column = str(text.count("\n") + 1), place
        raise UsageError(f"{path}:{where}: {problem} ({column})") from None
    except (ValueError, RecursionError):
        # Python itself refuses long numbers and deep nesting.
        raise UsageError(f"{path}: a number is too long, or a value is nested too deeply") from None


def contents_of(table: dict[str, object]) -> Contents:
    """Return the values, models and rules in a parsed file."""
    problems: list[str] = []
    table = dict(table)
    models = models_in(table.pop(MODELS, {}), problems)
    rules = rules_in(table.pop(RULE, []), problems)
    values: dict[str, Value] = {}
    for section in SECTIONS:
        entries = table.pop(section, {})
        if isinstance(entries, dict):
            values |= values_in(entries, section, problems)
        else:
            problems.append(f"{section}: expected a table [{section}]")
    values |= values_in(table, "", problems)
    return Contents(values, models, tuple(problems), rules)


def values_in(entries: dict[str, object], section: str, problems: list[str]) -> dict[str, Value]:
    """Return the values of one table of the file."""
    values: dict[str, Value] = {}
    for key, value in entries.items():
        name = f"{section}.{key}" if section else key
        option = BY_KEY.get(key)
        if option is None or not option.ambient or option.section != section:
            problems.append(unknown(name, KNOWN))
            continue
        if value == "" and option.default is None:
            # Not set, as an empty variable: TOML has no other way to write that there is no value.
            continue
        try:
            # The default can always be written, even if a flag does not take it.
            values[key] = "" if value == "" == option.default else value_of(option.kind, value)
        except ValueError as error:
            problems.append(f"{name}: {error}")
    return values


def value_of(kind: Kind, value: object) -> Value:
    """Return a value of the file as a kind reads it; `ValueError` if it is not valid."""
    kinds: tuple[type, ...] = (int, str)
    if isinstance(kind, Fraction | Duration):
        kinds = (int, float, str)
    elif isinstance(kind, Name):
        kinds = (str,)
    fits = isinstance(value, bool) == isinstance(kind, Switch) and isinstance(value, kinds)
    # A number may have more digits than Python converts to text.
    if not fits or (isinstance(value, int) and value.bit_length() > 64):
        shown = str(value).lower() if isinstance(value, bool) else shortened(value)
        raise ValueError(f"{shown} is not {kind.expected}")
    return kind.read(("false", "true")[value] if isinstance(value, bool) else str(value))


def models_in(table: object, problems: list[str]) -> dict[str, Model]:
    """Return the `[models]` of the file."""
    found: dict[str, Model] = {}
    if not isinstance(table, dict):
        problems.append(f"{MODELS}: expected tables of the form [{MODELS}.NAME]")
        return found
    for name, entry in table.items():
        where = f"{MODELS}.{name}"
        if not isinstance(entry, dict):
            problems.append(f"{where}: expected a table [{where}]")
            continue
        known: dict[str, Any] = {}
        for key, value in entry.items():
            if key in MODEL_KINDS:
                try:
                    known[key] = value_of(MODEL_KINDS[key], value)
                except ValueError as error:
                    problems.append(f"{where}.{key}: {error}")
            else:
                problems.append(unknown(f"{where}.{key}", MODEL_KINDS))
        found[name] = Model(**{**dict.fromkeys(MODEL_KINDS), **known})
    return found


def rules_in(tables: object, problems: list[str]) -> tuple[Rule, ...]:
    """Return the rules of the file, in their order."""
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        problems.append(f"{RULE}: expected tables of the form [[{RULE}]]")
        return ()
    return tuple(rule_in(table, number, problems) for number, table in enumerate(tables, 1))


def rule_in(table: dict[str, object], number: int, problems: list[str]) -> Rule:
    """Return one rule of the file."""
    where = f"{RULE} {number}"
    values: dict[str, Value] = {}
    match, passes = table.get("match"), table.get("pass", False)
    patterns = tuple(match if isinstance(match, list) else [match])
    if not patterns or not all(isinstance(pattern, str) and pattern.strip() for pattern in patterns):
        problems.append(f"{where}: match: expected a pattern such as 'git diff', or a list of patterns")
        patterns = ()
    if not isinstance(passes, bool):
        problems.append(f"{where}: pass: {shortened(passes)} is not one of true, false")
    for key, value in table.items():
        if key in ("match", "pass"):
            continue
        if key not in RULE_KEYS:
            problems.append(f"{where}: {unknown(key, ('match', 'pass', *RULE_KEYS))}")
        elif passes is True:
            problems.append(f"{where}: {key}: has no effect with pass = true; remove one of them")
        else:
            try:
                values[RULE_KEYS[key]] = value_of(BY_KEY[RULE_KEYS[key]].kind, value)
            except ValueError as error:
                problems.append(f"{where}: {key}: {error}")
    if values.get("focus"):
        try:
            values = {**values, **with_focus({"keep": DEFAULTS["keep"], "ask": "", **values}, values)}
        except UsageError as error:
            problems.append(f"{where}: focus: {str(error).removeprefix('--focus').lstrip(': ')}")
    return Rule(number, patterns, PASS if passes is True else values)


def unknown(name: str, known: Iterable[str]) -> str:
    """Return what is wrong with a key that is not known: the key that was probably meant may be elsewhere."""
    own = {one.rpartition(".")[2]: one for one in known}
    near = nearest(name.rpartition(".")[2].lower().replace("-", "_"), own)
    return f"unknown key {shortened(name)}; {f'did you mean {own[near]}?' if near else 'see man tokcap'}"
