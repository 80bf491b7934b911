"""A first config file: every key there is, with its meaning and its default, all of them commented out.

Prose begins with `# `. A line that begins with `#` alone is a setting: without that sign it says the default.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tokcap.cli.config.reading import MODELS, SECTIONS
from tokcap.cli.kinds import Duration, Size, Switch
from tokcap.cli.options import OPTIONS, Option
from tokcap.errors import ConfigExists, StreamError
from tokcap.tokens.models import MODELS as KNOWN_MODELS

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTH = 100

HEAD = """\
# Settings of tokcap, for all of its calls. An option on the command line wins over a variable
# (TOKCAP_TOKEN_LIMIT), a variable over this file. What stands here are the defaults: to change one,
# remove the # at the beginning of its line. tokcap doctor shows what is in force, and why.
"""

MODELS_HEAD = """\
# Readers, for --model: tokens of their context, and their tokenizer if it is published. A name stands
# for all that begin with it: gpt-4o for gpt-4o-mini. Yours win over those that tokcap knows, which are
# these:
"""


def write_config(path: str) -> None:
    """Put a commented file where none is; its directory is made if need be."""
    try:
        if directory := os.path.dirname(path):
            os.makedirs(directory, 0o700, exist_ok=True)
        # It fails, too, where a link leads nowhere: whoever put it there had a reason.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        if not os.path.lexists(path):
            raise StreamError(f"cannot write {path}: there is no directory for it") from None
        raise ConfigExists(f"{path} is there already, and stays as it is; edit it, or move it away") from None
    except OSError as error:
        raise StreamError(f"cannot write {path}: {error.strerror}") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(config_text().encode())
    except OSError as error:
        os.unlink(path)
        raise StreamError(f"cannot write {path}: {error.strerror}") from None


def config_text() -> str:
    """The content of the file."""
    blocks = [HEAD, *(described(option) for option in OPTIONS if option.ambient and not option.section)]
    for section in SECTIONS:
        blocks.append(f"[{section}]\n")
        blocks += [described(option) for option in OPTIONS if option.ambient and option.section == section]
    return "\n".join([*blocks, f"[{MODELS}]\n", MODELS_HEAD + "".join(model_lines())])


def described(option: Option) -> str:
    """What an option does, what it takes, and its default."""
    import textwrap

    # The kind of a switch names all words that a variable may have; here it is one of two.
    kind = "true or false" if isinstance(option.kind, Switch) else option.kind.expected
    otherwise = f'; "": {option.shown_default}' if option.default is None else ""
    prose = f"{option.flag}: {option.help}. Takes {kind}{otherwise}."
    lines = textwrap.wrap(prose, WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)
    return "\n".join([*lines, f"#{option.key} = {default_value(option)}"]) + "\n"


def default_value(option: Option) -> str:
    """An option's default in TOML."""
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
    """A line of text as a TOML string, which for such a line is written as in JSON."""
    import json

    return json.dumps(text, ensure_ascii=False)
