"""Hermes: a plug-in in `~/.hermes/plugins/tokcap` replaces the output of commands after the run.

Hermes runs its own file operations in the shell of commands too, so that shell must not be replaced. It gives
the model an output as JSON. `plugins.enabled` in `config.yaml` names the plug-ins that it loads.
"""

from __future__ import annotations

import os

from tokcap.environment import Frame
from tokcap.errors import HookRefused
from tokcap.hooks.base import RESULTS, Agent, Installation, Place
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.hooks.own_files import OwnFile
    from tokcap.hooks.settings import Addition

PLUGIN = "tokcap"
MANIFEST = """\
# {}
name: tokcap
version: "1"
description: Cap what commands print, and store the rest
hooks:
  - transform_terminal_output
"""


class Hermes(Agent):
    name = "hermes"
    title = "Hermes"
    program = "hermes"
    way = RESULTS
    effect = "caps the result of every terminal command in the foreground"
    tried = "0.19.0"
    # A JSON document with the output, the exit status and an error.
    frame = Frame(tokens=20, as_json=1, characters=49_900)
    sent = (9_274, 26_667)

    def user_settings(self, place: Place) -> str:
        base = place.variables.get("HERMES_HOME") or f"{place.home}/.hermes"
        return f"{base}/config.yaml"

    def objections(self, place: Place) -> list[str]:
        from tokcap.hooks import settings
        from tokcap.hooks.yaml_settings import YamlItem

        path = self.user_settings(place)
        try:
            found = settings.found(path, settings.read(path), YamlItem(("plugins", "disabled"), PLUGIN))
        except HookRefused as error:
            return [str(error)]
        return [f"plugins.disabled in {path} names {PLUGIN}"] if found else []

    def files(self, path: str, wanted: Installation) -> Sequence[OwnFile]:
        import json

        from tokcap.hooks.own_files import OwnFile, marked, shell_file, source

        # Commands run with the PATH of a login shell, which need not have tokcap.
        variables = {**self.variables(wanted), "TOKCAP_PROGRAM": wanted.program}
        shell = shell_file(path, "bash", wanted, variables)
        plugin = source("hermes.py.txt").replace('"@shell@"', json.dumps(shell.path))
        return [
            shell,
            OwnFile(f"{directory_of(path)}/plugin.yaml", MANIFEST.format(marked(wanted))),
            OwnFile(f"{directory_of(path)}/__init__.py", f"# {marked(wanted)}\n{plugin}"),
        ]

    def additions(self, path: str, wanted: Installation) -> Sequence[Addition]:
        from tokcap.hooks.yaml_settings import YamlItem

        return [YamlItem(("plugins", "enabled"), PLUGIN)]

    def remove_files(self, path: str) -> bool:
        import shutil

        plugin = directory_of(path)
        if os.path.exists(f"{plugin}/__init__.py"):
            # Compiled by Hermes.
            shutil.rmtree(f"{plugin}/__pycache__", ignore_errors=True)
        removed = super().remove_files(path)
        try:
            os.rmdir(os.path.dirname(plugin))
        except OSError:
            # Other plug-ins are there, or it never was.
            pass
        return removed

    def shell_words(self, path: str, command: str) -> tuple[list[str], dict[str, str]]:
        # The plug-in gives every output to this shell.
        return [self.all_files(path)[0].path, "-c", command], {}


def directory_of(path: str) -> str:
    return os.path.join(os.path.dirname(path), "plugins", PLUGIN)


HERMES = Hermes()
