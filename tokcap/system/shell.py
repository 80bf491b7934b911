"""The real shell that runs strings, as `TOKCAP_SHELL` names it. Its arguments are passed on unchanged."""

from __future__ import annotations

from tokcap.errors import UsageError
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DEFAULT_SHELL = "/bin/sh"
OWN_NAMES = ("tokcap", "tokcap-sh")


def shell_of(variables: Mapping[str, str]) -> str:
    """Return the shell that `TOKCAP_SHELL` names. `SHELL` is not used: it may be tokcap itself."""
    named = variables.get("TOKCAP_SHELL") or DEFAULT_SHELL
    if named.rpartition("/")[2] in OWN_NAMES:
        raise UsageError(f"TOKCAP_SHELL: {named} would call itself without end; name a real shell")
    return named


def shell_argv(
    string_and_args: Sequence[str], flags: Sequence[str], variables: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the command that runs a string; `flags` include the `-c`."""
    return (shell_of(variables), *flags, *string_and_args)
