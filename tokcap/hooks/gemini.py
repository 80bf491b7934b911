"""Gemini CLI: `BASH_ENV` in `~/.gemini/.env`, which the agent reads into its own environment.

It runs `bash -c`. It reads only the first `.env` file that it finds: in the project, in the directories
above, then in the home directory. So a project with its own `.env` needs the line there.
"""

from __future__ import annotations

import os

from tokcap.environment import Frame
from tokcap.hooks.base import START_UP_FILE, Installation, Place, StartUpAgent
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.hooks.settings import Addition


class Gemini(StartUpAgent):
    name = "gemini"
    title = "Gemini CLI"
    program = "gemini"
    way = START_UP_FILE
    effect = "caps every shell command, in every approval mode"
    tried = "0.61.0"
    # Tags around it, the exit status, the process group.
    frame = Frame(tokens=48, characters=39_900)
    sent = (7_510, 20_541)
    merges_streams = True
    usual_model = "gemini"

    def user_settings(self, place: Place) -> str:
        return f"{place.home}/.gemini/.env"

    def model(self, place: Place) -> str:
        from tokcap.hooks.settings import model_in_json, model_in_variable

        paths = [f"{base}/.gemini/settings.json" for base in (place.project, place.home)]
        named = model_in_variable(place.variables, "GEMINI_MODEL") or model_in_json(paths, "model", "name")
        # Older versions of the agent have the name itself there.
        return named or model_in_json(paths, "model")

    def objections(self, place: Place) -> list[str]:
        nearer = nearer_file(place)
        return [f"it reads {nearer} instead; add the line BASH_ENV= there too"] if nearer else []

    def additions(self, path: str, wanted: Installation) -> Sequence[Addition]:
        from tokcap.hooks.line_settings import EnvLine

        return [EnvLine("BASH_ENV", self.files(path, wanted)[0].path)]


def nearer_file(place: Place) -> str:
    """Return the `.env` file that is read instead of the user's and does not set BASH_ENV; empty if none."""
    directory = place.project
    while True:
        for name in (".gemini/.env", ".env"):
            path = os.path.join(directory, name)
            if os.path.isfile(path):
                return "" if path == f"{place.home}/.gemini/.env" or sets_it(path) else path
        if os.path.dirname(directory) == directory:
            return ""
        directory = os.path.dirname(directory)


def sets_it(path: str) -> bool:
    try:
        with open(path, errors="replace") as file:
            return "BASH_ENV=" in file.read()
    except OSError:
        return False


GEMINI = Gemini()
