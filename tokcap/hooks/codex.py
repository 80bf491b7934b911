"""Codex: `BASH_ENV` in `[shell_environment_policy.set]` of `config.toml`, which Codex sets for every command.

Codex runs `bash -c` with a snapshot of the login shell, whose PATH need not have tokcap. So the mark names
tokcap by its path. With zsh as the login shell, Codex runs zsh, which does not read `BASH_ENV`.
"""

from __future__ import annotations

import os

from tokcap.environment import Frame
from tokcap.hooks.base import START_UP_FILE, Installation, Place, StartUpAgent
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tokcap.hooks.settings import Addition


class Codex(StartUpAgent):
    name = "codex"
    title = "Codex"
    program = "codex"
    way = START_UP_FILE
    effect = "caps every bash command, also in its sandboxes and in code mode"
    tried = "0.169.0"
    session_variable = "CODEX_SESSION_ID"
    usage_files = "sessions/*/*/*/rollout-*-{}.jsonl"
    # An identifier, the time, the exit status, a count.
    frame = Frame(tokens=44, cut=1900, size=10_000)
    sent = (1_917, 7_292)
    merges_streams = True
    usual_model = "gpt-5"

    def user_settings(self, place: Place) -> str:
        base = place.variables.get("CODEX_HOME") or f"{place.home}/.codex"
        return f"{base}/config.toml"

    def model(self, place: Place) -> str:
        from tokcap.hooks.settings import model_in_toml

        return model_in_toml(self.user_settings(place), "model")

    def written_by_model(self, line: dict[str, Any]) -> tuple[str, int] | None:
        if line["type"] != "token_usage_record":
            return None
        return str(line["payload"]["response_id"]), int(line["payload"]["usage"]["output_tokens"])

    def objections(self, place: Place) -> list[str]:
        shell = place.variables.get("SHELL", "")
        if shell and os.path.basename(shell) not in ("bash", "sh"):
            return [f"the login shell is {shell}, and only bash reads BASH_ENV"]
        return []

    def variables(self, wanted: Installation) -> dict[str, str]:
        return {**super().variables(wanted), "TOKCAP_PROGRAM": wanted.program}

    def additions(self, path: str, wanted: Installation) -> Sequence[Addition]:
        from tokcap.hooks.line_settings import TomlValue

        return [TomlValue(("shell_environment_policy", "set"), "BASH_ENV", self.files(path, wanted)[0].path)]


CODEX = Codex()
