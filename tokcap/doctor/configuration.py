"""Check the configuration: every setting with its value and source, and the errors in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tokcap.budget.server_url import title_of
from tokcap.cli.config.file import config_bytes
from tokcap.cli.config.lines import line_of
from tokcap.cli.config.reading import Contents, contents_of, located, parsed
from tokcap.cli.kinds import ServerUrl
from tokcap.cli.options import OPTIONS
from tokcap.cli.words import decoded
from tokcap.doctor.finding import Finding, Setting, note, ok, wrong
from tokcap.errors import TokcapError, UsageError
from tokcap.system.quoting import quoted
from tokcap.system.shell import shell_of
from tokcap.tokens.models import find_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.cli.kinds import Value
    from tokcap.cli.options import Option
    from tokcap.environment import Environment

DEFAULT = "default"


def check(env: Environment) -> Iterator[Finding]:
    """Check the file, each setting, and the model, tokenizer and shell that they name."""
    path = env.config_file()
    text, contents = "", Contents({}, {}, ())
    try:
        data = config_bytes(env)
        text, table = parsed(data, path)
        contents = contents_of(table)
    except UsageError as error:
        yield wrong("file", str(error), remedy_for(str(error), path))
    else:
        if contents.problems:
            for line, message in located(contents.problems, text, path):
                yield wrong("file", message, edit(path, line))
        elif os.path.exists(path):
            yield ok("file", path)
        else:
            yield ok("file", f"{path} does not exist; to create it: tokcap doctor --write-config")
    settings = {}
    for option in (option for option in OPTIONS if option.ambient):
        finding = setting_of(option, contents, text, path, env)
        if isinstance(finding, Setting):
            settings[option.key] = finding
        else:
            yield finding
    yield from check_model(settings, contents, env)
    yield from settings.values()
    yield from check_shell(env)


def setting_of(option: Option, contents: Contents, text: str, path: str, env: Environment) -> Finding:
    """Return a setting in effect, or the error in its variable."""
    raw = option.text_in(env.variables)
    if raw is not None:
        try:
            return setting(option, option.kind.read(decoded(raw)), option.variable)
        except ValueError as error:
            return wrong(option.key, f"{option.variable}: {error}", f"unset {option.variable}")
    if option.key in contents.values:
        keys = (option.section, option.key) if option.section else (option.key,)
        return setting(option, contents.values[option.key], f"{path}:{line_of(keys, text)}")
    return setting(option, option.default, DEFAULT)


def setting(option: Option, value: Value, source: str) -> Setting:
    if isinstance(option.kind, ServerUrl) and value:
        value = title_of(str(value))
    shown = option.shown_default if value == option.default else spelled(value)
    return Setting(option.key, "ok", f"{shown} ({source})", "", value, source)


def spelled(value: Value) -> str:
    return ("off", "on")[value] if isinstance(value, bool) else str(value)


def check_model(settings: dict[str, Setting], contents: Contents, env: Environment) -> Iterator[Finding]:
    """Replace defaults in `settings` by what the model implies, and check model and tokenizer."""
    model = settings.get("model")
    if model and model.value:
        try:
            known = find_model(str(model.value), contents.models).known()
        except UsageError as error:
            yield wrong("model", str(error), remedy_at_source(model))
            known = {}
        for key, value in known.items():
            if key in settings and settings[key].source == DEFAULT:
                source = f"model {model.value}"
                settings[key] = Setting(key, "ok", f"{value} ({source})", "", value, source)
    tokenizer = settings.get("tokenizer")
    if tokenizer and tokenizer.source != DEFAULT:
        yield from check_tokenizer(tokenizer, env)


def check_tokenizer(tokenizer: Setting, env: Environment) -> Iterator[Finding]:
    """Check whether a tokenizer is known. It is not loaded, because that may need the network."""
    from tokcap.tokens import examine_tokenizer_name

    name = str(tokenizer.value)
    try:
        if remark := examine_tokenizer_name(name, env):
            yield note("tokenizer", remark, f"tokcap --tokenizer {quoted(name)} --token-count -- true")
    except TokcapError as error:
        yield wrong("tokenizer", str(error), remedy_at_source(tokenizer))


def check_shell(env: Environment) -> Iterator[Finding]:
    """Check the shell of `tokcap -c`."""
    import shutil

    if not env.variables.get("TOKCAP_SHELL"):
        return
    try:
        named = shell_of(env.variables)
    except UsageError as error:
        yield wrong("shell", str(error), "unset TOKCAP_SHELL")
        return
    if shutil.which(named, path=env.variables.get("PATH")) is None:
        yield wrong("shell", f"TOKCAP_SHELL: {named} does not exist", "unset TOKCAP_SHELL")
    else:
        yield Setting("shell", "ok", f"{named} (TOKCAP_SHELL)", "", named, "TOKCAP_SHELL")


def remedy_for(message: str, path: str) -> str:
    """Return what to do about a file that cannot be read."""
    if message.startswith("TOKCAP_CONFIG"):
        return "unset TOKCAP_CONFIG"
    line = message.removeprefix(f"{path}:").partition(":")[0]
    return edit(path, int(line)) if line.isdigit() else f"ls -ld {quoted(path)}"


def remedy_at_source(found: Setting) -> str:
    """Return how to remove or change a setting at its source."""
    if found.source.startswith("TOKCAP_"):
        return f"unset {found.source}"
    path, _, line = found.source.rpartition(":")
    return edit(path, int(line)) if line.isdigit() else "unset TOKCAP_MODEL"


def edit(path: str, line: int) -> str:
    return f'"${{EDITOR:-vi}}" +{max(line, 1)} {quoted(path)}'
