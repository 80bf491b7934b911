"""Read a config file: from its bytes to its values and models. Problems are reported with file and line.

Loaded only if there is such a file.
"""

from __future__ import annotations

from tokcap.cli.kinds import Duration, Fraction, Switch, WholeNumber, shortened
from tokcap.cli.options import BY_KEY, OPTIONS
from tokcap.cli.synonyms import meanings
from tokcap.core import spelling
from tokcap.errors import UsageError
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.tokens.models import Model

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokcap.cli.kinds import Value
    from tokcap.cli.options import Option

MODELS = "models"
# The keys of a model, and what is expected as value.
MODEL_KEYS = {"context_window": "a whole number of at least 1", "tokenizer": "the name of a tokenizer"}
SECTIONS = tuple(sorted({option.section for option in OPTIONS if option.section}))


class Problem(Record):
    """What is wrong with one key."""

    keys: tuple[str, ...]
    message: str


class Contents(Record):
    """What a config file says, and what is wrong with it."""

    values: dict[str, Value]
    models: dict[str, Model]
    problems: tuple[Problem, ...]


def read_config(data: bytes, path: str) -> Contents:
    """Return what the file says; `UsageError` with the first wrong line if anything is wrong."""
    text, table = parsed(data, path)
    found = contents_of(table)
    if found.problems:
        raise UsageError(located(found.problems, text, path)[0][1])
    return found


def located(problems: Iterable[Problem], text: str, path: str) -> list[tuple[int, str]]:
    """Return line and message of each problem, in the order of the lines."""
    from tokcap.cli.config.lines import line_of

    found = [(line_of(problem.keys, text) or 0, problem.message) for problem in problems]
    return [
        (line, f"{path}:{line}: {message}" if line else f"{path}: {message}")
        for line, message in sorted(found)
    ]


def parsed(data: bytes, path: str) -> tuple[str, dict[str, object]]:
    """Return the text of the file, and the parsed TOML."""
    import tomllib

    try:
        # As tomllib does, so that lines and columns agree with its messages.
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}:{line}: is not UTF-8") from None
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}:{syntax_problem(str(error), text)}") from None
    except (ValueError, RecursionError):
        # Python itself refuses long numbers and deep nesting.
        line = refused_line(text)
        raise UsageError(f"{path}:{line}: a number is too long, or a value is nested too deeply") from None


def syntax_problem(message: str, text: str) -> str:
    """Return `3: Invalid value (column 7)`, made from the message of tomllib."""
    problem, _, place = message.rstrip(")").rpartition(" (at ")
    words = place.replace(",", "").split()
    if words[:1] == ["line"]:
        return f"{words[1]}: {problem} (column {words[-1]})"
    # Something is never closed. It began in the last statement.
    from tokcap.cli.config.lines import placed_keys

    lines = [found.line for found in placed_keys(text) if found.is_statement]
    return f"{max(lines, default=1)}: {problem or message} (and the file ends)"


def refused_line(text: str) -> int:
    """Return the line of the first statement that Python refuses."""
    import tomllib

    from tokcap.cli.config.lines import placed_keys

    statements = [found for found in placed_keys(text) if found.is_statement]
    first, last = 0, len(statements) - 1
    while first < last:
        middle = (first + last) // 2
        try:
            tomllib.loads(text[: statements[middle + 1].start])
            first = middle + 1
        except (ValueError, RecursionError):
            last = middle
    return statements[first].line if statements else 1


def contents_of(table: dict[str, object]) -> Contents:
    """Return the values and models in a parsed file."""
    problems: list[Problem] = []
    table = dict(table)
    models = models_in(table.pop(MODELS, {}), problems)
    values: dict[str, Value] = {}
    for section in SECTIONS:
        entries = table.pop(section, {})
        if isinstance(entries, dict):
            values |= values_in(entries, section, problems)
        else:
            problems.append(Problem((section,), f"{section}: expected a table [{section}]"))
    values |= values_in(table, "", problems)
    return Contents(values, models, tuple(problems))


def values_in(entries: dict[str, object], section: str, problems: list[Problem]) -> dict[str, Value]:
    """Return the values of one table of the file."""
    values: dict[str, Value] = {}
    for key, value in entries.items():
        keys = (section, key) if section else (key,)
        option = BY_KEY.get(key)
        if option is None or not option.ambient or option.section != section:
            problems.append(Problem(keys, f"unknown key {shortened('.'.join(keys))}{advice(key, section)}"))
            continue
        if value == "" and option.default is None:
            # Not set, as an empty variable: TOML has no other way to write that there is no value.
            continue
        if value == "" == option.default:
            # The default can always be written, even if a flag does not take it.
            values[key] = ""
            continue
        try:
            values[key] = value_of(option, value)
        except ValueError as error:
            problems.append(Problem(keys, f"{'.'.join(keys)}: {error}"))
    return values


def value_of(option: Option, value: object) -> Value:
    """Return a value of the file as the option reads it; `ValueError` if it is not valid."""
    kinds = (int, float, str) if isinstance(option.kind, Fraction | Duration) else (int, str)
    fits = isinstance(value, bool) == isinstance(option.kind, Switch) and isinstance(value, kinds)
    # A number may have more digits than Python converts to text.
    if not fits or (isinstance(value, int) and value.bit_length() > 64):
        shown = str(value).lower() if isinstance(value, bool) else shortened(value)
        raise ValueError(f"{shown} is not {option.kind.expected}")
    return option.kind.read(("false", "true")[value] if isinstance(value, bool) else str(value))


def models_in(table: object, problems: list[Problem]) -> dict[str, Model]:
    """Return the `[models]` of the file."""
    found: dict[str, Model] = {}
    if not isinstance(table, dict):
        problems.append(Problem((MODELS,), f"{MODELS}: expected tables of the form [{MODELS}.NAME]"))
        return found
    for name, entry in table.items():
        where = f"{MODELS}.{name}"
        if not isinstance(entry, dict):
            problems.append(Problem((MODELS, name), f"{where}: expected a table [{where}]"))
            continue
        for key, value in entry.items():
            expected = MODEL_KEYS.get(key)
            if expected is None:
                hint = "the keys are context_window and tokenizer"
                near = nearest(key, tuple(MODEL_KEYS))
                hint = f"did you mean {near}?" if near else hint
                problems.append(
                    Problem((MODELS, name, key), f"unknown key {shortened(f'{where}.{key}')}; {hint}")
                )
            elif not is_model_value(key, value):
                message = f"{where}.{key}: {shortened(value)} is not {expected}"
                problems.append(Problem((MODELS, name, key), message))
        window = entry.get("context_window")
        found[name] = Model(window_tokens(window) or None, entry.get("tokenizer"))
    return found


def is_model_value(key: str, value: object) -> bool:
    if key == "tokenizer":
        return isinstance(value, str) and bool(value.strip())
    return window_tokens(value) > 0


def window_tokens(value: object) -> int:
    """Return the size of a context window, a number or `"200k"`; 0 if it is neither."""
    if isinstance(value, str):
        try:
            return WholeNumber(minimum=1).read(value)
        except ValueError:
            return 0
    if not isinstance(value, int) or isinstance(value, bool):
        return 0
    return value if 1 <= value < 1 << 63 else 0


def advice(key: str, section: str) -> str:
    """Return a hint for an unknown key."""
    option = BY_KEY.get(key)
    if option and not option.ambient:
        return f"; {option.flag} cannot be configured: it is for one output"
    if option:
        return f"; it belongs in [{option.section}]" if option.section else "; it belongs before all tables"
    flags = [option.flag for option in OPTIONS if option.ambient]
    if guessed := next(meanings(key.lower().replace("_", "-"), flags), ""):
        name, _, value = guessed.lstrip("-").replace("-", "_").partition(" ")
        shown = f'{name} = "{value}"' if value else name
        return f"; did you mean {shown}?"
    own = [option.key for option in OPTIONS if option.ambient and option.section == section]
    if near := nearest(key, own) or nearest(key, [option.key for option in OPTIONS if option.ambient]):
        where = BY_KEY[near].section
        return f"; did you mean {near}{f' in [{where}]' if where and where != section else ''}?"
    if not section and (table := nearest(key, [*SECTIONS, MODELS])):
        return f"; did you mean [{table}]?"
    return "; tokcap doctor --write-config writes a file with all keys"


def nearest(word: str, known: Sequence[str]) -> str:
    """Find the nearest key. Keys are lower case, with underscores."""
    return spelling.nearest(word.lower().replace("-", "_"), known)
