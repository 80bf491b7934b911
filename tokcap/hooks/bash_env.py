"""The start-up file for `BASH_ENV`, by which a `bash -c STRING` hands over to `tokcap-bash`."""

from __future__ import annotations

import os

from tokcap.system.quoting import always_quoted

PLACE = "@tokcap-bash@"
SOURCE = os.path.join(os.path.dirname(__file__), "data", "bash_env.sh")


def bash_env(tokcap_bash: str) -> str:
    """Return the file. `tokcap_bash` is the absolute path of the program `tokcap-bash`."""
    with open(SOURCE, encoding="utf-8") as file:
        return file.read().replace(PLACE, always_quoted(tokcap_bash))
