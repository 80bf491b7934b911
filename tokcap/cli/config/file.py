"""Access to the user's config file: its bytes, or what it says. A missing file is not an error."""

from __future__ import annotations

import os

from tokcap.errors import UsageError
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.cli.config.reading import Contents
    from tokcap.cli.options import Option
    from tokcap.environment import Environment

LARGEST_CONFIG_BYTES = 1 << 20


def read_file(env: Environment) -> Contents | None:
    """Return what the config file says; None if there is no file, `UsageError` if anything in it is wrong."""
    from tokcap.cli.config.reading import read_config

    data = config_bytes(env)
    return read_config(data, env.config_file()) if data else None


def raw_value(option: Option, env: Environment) -> object:
    """Return the unchecked value of one option, even if other keys of the file are wrong."""
    from tokcap.cli.config.reading import parsed

    data = config_bytes(env)
    return parsed(data, env.config_file())[1].get(option.key) if data else None


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
