"""Goose: `GOOSE_SHELL` in its own environment names its shell; in its settings the variable has no effect.

Commands run with the PATH of a login shell, which need not have tokcap.
"""

from __future__ import annotations

from tokcap.environment import Frame
from tokcap.hooks.base import AS_SHELL, Installation, StartedWithAgent
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.hooks.own_files import OwnFile


class Goose(StartedWithAgent):
    name = "goose"
    title = "Goose"
    program = "goose"
    way = AS_SHELL
    effect = "caps every shell command if it was started with GOOSE_SHELL set to the file"
    tried = "1.34.0"
    frame = Frame(tokens=30, cut=1000, size=49_000, lines=1_990)
    sent = (207, 1_402)
    then = "start it with GOOSE_SHELL={} goose, for example by an alias"
    directory = ".config/goose"
    file = "bash"

    def files(self, path: str, wanted: Installation) -> Sequence[OwnFile]:
        from tokcap.hooks.own_files import shell_file

        return [shell_file(path, "bash", wanted, self.variables(wanted)).replace(path=path)]

    def shell_words(self, path: str, command: str) -> tuple[list[str], dict[str, str]]:
        return [path, "-c", command], {}


GOOSE = Goose()
