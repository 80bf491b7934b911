"""Cline: it runs `bash -c` with its own environment, and has no settings for it.

So `install` only writes the start-up file, and says how to start Cline with it.
"""

from __future__ import annotations

import os

from tokcap.hooks.base import START_UP_FILE, Installation, Place
from tokcap.hooks.file_agent import StartUpAgent
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.hooks.own_files import OwnFile


class Cline(StartUpAgent):
    name = "cline"
    title = "Cline"
    way = START_UP_FILE
    effect = "caps every shell command if Cline was started with BASH_ENV set to the file"
    tried = "3.0.65"
    then = "start it with BASH_ENV={} cline"

    def user_settings(self, place: Place) -> str:
        return f"{place.home}/.cline/tokcap/bash_env.sh"

    def is_present(self, place: Place) -> bool:
        return os.path.isdir(f"{place.home}/.cline")

    def files(self, path: str, wanted: Installation) -> Sequence[OwnFile]:
        # There are no settings: the file itself stands for them.
        return [file.but(path=path) for file in super().files(path, wanted)]


CLINE = Cline()
