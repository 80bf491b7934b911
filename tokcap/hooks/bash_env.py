"""The start-up file for `BASH_ENV`, by which a `bash -c STRING` hands over to `tokcap-bash`."""

from __future__ import annotations

import os

from tokcap.lean.record import TYPE_CHECKING
from tokcap.system.quoting import always_quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

PLACE = "@tokcap-bash@"
CALL = f"exec {PLACE}"
SOURCE = os.path.join(os.path.dirname(__file__), "data", "bash_env.sh")


def bash_env(tokcap_bash: str, variables: Mapping[str, str] | None = None) -> str:
    """Return the file.

    `tokcap_bash` is the absolute path of the program `tokcap-bash`, or its name, which is then searched for
    on PATH. `variables` are set for it.
    """
    with open(SOURCE, encoding="utf-8") as file:
        text = file.read()
    settings = "".join(f"{name}={always_quoted(value)} " for name, value in (variables or {}).items())
    program = always_quoted(tokcap_bash) if "/" in tokcap_bash else f'"$(type -P {tokcap_bash})"'
    return text.replace(CALL, settings + CALL).replace(PLACE, program)
