"""Qwen Code: `BASH_ENV` under `env` of `settings.json`. It runs `bash -c` with its own environment."""

from __future__ import annotations

from tokcap.hooks.base import START_UP_FILE, Installation, Place
from tokcap.hooks.file_agent import StartUpAgent
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.hooks.settings import Addition


class Qwen(StartUpAgent):
    name = "qwen"
    title = "Qwen Code"
    way = START_UP_FILE
    effect = "caps every shell command, in every approval mode"
    tried = "0.24.0"

    def user_settings(self, place: Place) -> str:
        return f"{place.home}/.qwen/settings.json"

    def additions(self, path: str, wanted: Installation) -> Sequence[Addition]:
        from tokcap.hooks.settings_value import JsonValue

        return [JsonValue(("env", "BASH_ENV"), self.files(path, wanted)[0].path)]


QWEN = Qwen()
