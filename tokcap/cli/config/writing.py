"""Write a first config file: every key with its meaning and its default, all commented out.

Prose begins with `# `. A line that begins with `#` and no space is a setting with its default value.
"""

from __future__ import annotations

import os

from tokcap.cli.config.reading import MODELS, SECTIONS
from tokcap.cli.kinds import Duration, Size, Switch
from tokcap.cli.options import OPTIONS, Option
from tokcap.errors import ConfigExists, StreamError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.tokens.models import MODELS as KNOWN_MODELS

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTH = 100

HEAD = """\
# Settings of tokcap for all calls. An option on the command line overrides a variable
# (TOKCAP_TOKEN_LIMIT), and a variable overrides this file. These are the defaults: to change one,
# remove the # at the beginning of its line. tokcap doctor shows which settings apply, and why.
"""

MODELS_HEAD = """\
# Models for --model: size of the context window in tokens, and tokenizer if it is published. A name
# also matches longer names: gpt-4o matches gpt-4o-mini. Your entries override those that tokcap knows:
"""


def write_config(path: str) -> None:
    """Write a commented file if there is none; create its directory if necessary."""
    try:
        if directory := os.path.dirname(path):
            os.makedirs(directory, 0o700, exist_ok=True)
        # This also fails for a dangling symlink, which somebody put there for a reason.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        if not os.path.lexists(path):
            raise StreamError(f"cannot write {path}: its directory does not exist") from None
        raise ConfigExists(f"{path} exists already and was not changed; edit it, or move it away") from None
    except OSError as error:
        raise StreamError(f"cannot write {path}: {error.strerror}") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(config_text().encode())
    except OSError as error:
        os.unlink(path)
        raise StreamError(f"cannot write {path}: {error.strerror}") from None


def config_text() -> str:
    """Return the content of the file."""
    blocks = [HEAD, *(option_text(option) for option in OPTIONS if option.ambient and not option.section)]
    for section in SECTIONS:
        blocks.append(f"[{section}]\n")
        blocks += [option_text(option) for option in OPTIONS if option.ambient and option.section == section]
    return "\n".join([*blocks, f"[{MODELS}]\n", MODELS_HEAD + "".join(model_lines())])


def option_text(option: Option) -> str:
    """Return what an option does, what it takes, and its default."""
    import textwrap

    # A variable of a switch takes more words; the config file takes only these two.
    kind = "true or false" if isinstance(option.kind, Switch) else option.kind.expected
    otherwise = f'; "": {option.shown_default}' if option.default is None else ""
    prose = f"{option.flag}: {option.help}. Takes {kind}{otherwise}."
    lines = textwrap.wrap(prose, WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)
    return "\n".join([*lines, f"#{option.key} = {default_value(option)}"]) + "\n"


def default_value(option: Option) -> str:
    """Return the default of an option in TOML."""
    if option.default is None:
        return '""'
    if isinstance(option.default, bool):
        return "true" if option.default else "false"
    if isinstance(option.kind, Size | Duration):
        return in_quotes(option.default_text)
    return in_quotes(option.default) if isinstance(option.default, str) else str(option.default)


def model_lines() -> Iterator[str]:
    for name, model in KNOWN_MODELS.items():
        known = ", ".join(
            f"{key} = {in_quotes(value) if isinstance(value, str) else value}"
            for key, value in model.known().items()
        )
        yield f"#{in_quotes(name)} = {{ {known} }}\n"


def in_quotes(text: str) -> str:
    """Return a line of text as a TOML string, which is the same as a JSON string."""
    import json

    return json.dumps(text, ensure_ascii=False)
