"""Check the configuration: errors in the file and in variables, and where each setting comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcap.budget import title_of
from tokcap.cli.arguments import decoded
from tokcap.cli.config import Contents, config_bytes, contents_of, parsed
from tokcap.cli.kinds import ServerUrl
from tokcap.cli.options import OPTIONS
from tokcap.core.spelling import nearest
from tokcap.doctor.examination import Finding, note, wrong
from tokcap.environment import FRAME, INSIDE
from tokcap.errors import TokcapError, UsageError
from tokcap.system.quoting import quoted
from tokcap.system.shell import BECAME
from tokcap.tokens import examine_tokenizer_name
from tokcap.tokens.models import find_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.cli.kinds import Value
    from tokcap.cli.options import Option
    from tokcap.environment import Environment

PREFIX = "TOKCAP_"
# Variables without an option.
OTHERS = (
    *("TOKCAP_CONFIG", "TOKCAP_DATA_DIR", "TOKCAP_SHELL", "TOKCAP_PROGRAM", "TOKCAP_AGENT"),
    "TOKCAP_COMMAND",
    *("TOKCAP_SESSION_FROM", "TOKCAP_SESSION_TOTAL", "TOKCAP_SESSION_MODES"),
    "TOKCAP_STAGES",
)
KNOWN = (*(option.variable for option in OPTIONS if option.ambient), *OTHERS, INSIDE, FRAME, BECAME)
ONLY_FLAGS = {option.variable: option.flag for option in OPTIONS if not option.ambient}
SIMILARITY = 0.75


class Setting(Finding):
    """A setting that is not the default, and its source: a variable, the config file, a model."""

    value: int | float | bool | str | None = None
    source: str = ""


def check(env: Environment) -> Iterator[Finding]:
    """Check the file, each setting, its model and tokenizer, and unknown variables."""
    path = env.config_file()
    contents = Contents({}, {}, ())
    try:
        contents = contents_of(parsed(config_bytes(env), path))
    except UsageError as error:
        yield wrong("file", str(error), remedy_for(str(error), path))
    for problem in contents.problems:
        yield wrong("file", f"{path}: {problem}", edit(path))
    settings: dict[str, Setting] = {}
    for option in (option for option in OPTIONS if option.ambient):
        try:
            found = setting_of(option, contents, path, env)
        except ValueError as error:
            yield wrong(option.key, f"{option.variable}: {error}", f"unset {option.variable}")
        else:
            settings |= {} if found is None else {option.key: found}
    yield from settings.values()
    yield from check_model(settings, contents, env)
    yield from check_variables(env)


def setting_of(option: Option, contents: Contents, path: str, env: Environment) -> Setting | None:
    """Return a setting that is set; None if the default applies. Raise `ValueError` for a bad variable."""
    raw = option.text_in(env.variables)
    if raw is not None:
        return setting(option, option.kind.read(decoded(raw)), option.variable)
    if option.key in contents.values:
        return setting(option, contents.values[option.key], path)
    return None


def setting(option: Option, value: Value, source: str) -> Setting:
    if isinstance(option.kind, ServerUrl) and value:
        # The URL may contain a password.
        value = title_of(str(value))
    shown = ("off", "on")[value] if isinstance(value, bool) else str(value)
    return Setting(option.key, "fact", f"{shown} ({source})", value=value, source=source)


def check_model(settings: dict[str, Setting], contents: Contents, env: Environment) -> Iterator[Finding]:
    """Check the model and the tokenizer, and say what the model implies."""
    model = settings.get("model")
    if model and model.value:
        try:
            implied = find_model(str(model.value), contents.models).known()
        except UsageError as error:
            yield wrong("model", str(error), remedy_at_source(model, env.config_file()))
            implied = {}
        source = f"model {model.value}"
        for key, value in implied.items():
            if key not in settings:
                yield Setting(key, "fact", f"{value} ({source})", value=value, source=source)
    tokenizer = settings.get("tokenizer")
    if tokenizer is None:
        return
    name = str(tokenizer.value)
    try:
        # The tokenizer is not loaded, because that may need the network.
        if remark := examine_tokenizer_name(name, env):
            yield note("tokenizer", remark, f"tokcap --tokenizer {quoted(name)} --token-count -- true")
    except TokcapError as error:
        yield wrong("tokenizer", str(error), remedy_at_source(tokenizer, env.config_file()))


def check_variables(env: Environment) -> Iterator[Finding]:
    """Check for variables that look like tokcap's but are unknown: a misspelt one is silently ignored."""
    for name, value in sorted(env.variables.items()):
        if not name.startswith(PREFIX) or name in KNOWN:
            continue
        if name in ONLY_FLAGS:
            message = f"has no effect: {ONLY_FLAGS[name]} can only be given on the command line"
            yield wrong(name, message, f"unset {name}")
        elif meant := nearest(name, KNOWN, SIMILARITY):
            remedy = f"unset {quoted(name)}; export {meant}={quoted(value)}"
            yield wrong(name, f"has no effect; did you mean {meant}?", remedy)
        else:
            yield note(name, "has no effect: not a variable of tokcap", f"unset {quoted(name)}")


def remedy_for(message: str, path: str) -> str:
    """Return what to do about a file that cannot be read."""
    if message.startswith("TOKCAP_CONFIG"):
        return "unset TOKCAP_CONFIG"
    return edit(path) if message.startswith(path) else f"ls -ld {quoted(path)}"


def remedy_at_source(found: Setting, path: str) -> str:
    """Return how to remove or change a setting at its source."""
    if found.source.startswith(PREFIX):
        return f"unset {found.source}"
    return edit(path) if found.source == path else "unset TOKCAP_MODEL"


def edit(path: str) -> str:
    return f'"${{EDITOR:-vi}}" {quoted(path)}'
