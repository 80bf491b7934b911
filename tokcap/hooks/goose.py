"""Goose: `GOOSE_SHELL` in its own environment names its shell; in its settings the variable has no effect.

Commands run with the PATH of a login shell, which need not have tokcap.
"""

from __future__ import annotations

from tokcap.environment import Frame
from tokcap.hooks.base import AS_SHELL, Installation, Place, ShellAgent
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.hooks.own_files import OwnFile
    from tokcap.hooks.settings import Addition


class Goose(ShellAgent):
    name = "goose"
    title = "Goose"
    program = "goose"
    way = AS_SHELL
    effect = "caps every shell command if it was started with GOOSE_SHELL set to the file"
    tried = "1.34.0"
    frame = Frame(tokens=30, cut=1000, size=49_000, lines=1_990)
    sent = (207, 1_402)
    then = "start it with GOOSE_SHELL={} goose, for example by an alias"

    def user_settings(self, place: Place) -> str:
        # The shell itself stands for settings.
        base = place.variables.get("XDG_CONFIG_HOME") or f"{place.home}/.config"
        return f"{base}/goose/tokcap/bash"

    def home_directory(self, place: Place) -> str:
        return self.user_settings(place).removesuffix("/tokcap/bash")

    def files(self, path: str, wanted: Installation) -> Sequence[OwnFile]:
        return [file.replace(path=path) for file in super().files(path, wanted)]

    def additions(self, path: str, wanted: Installation) -> Sequence[Addition]:
        return ()


GOOSE = Goose()
