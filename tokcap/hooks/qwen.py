"""Qwen Code: it runs `bash -c` with its own environment.

It does not take `BASH_ENV` from its settings or from an `.env` file, on purpose: those could come from
somebody else. So the user starts it with the variable.
"""

from __future__ import annotations

from tokcap.environment import Frame
from tokcap.hooks.base import START_UP_FILE, Place, StartedWithAgent
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


class Qwen(StartedWithAgent):
    name = "qwen"
    title = "Qwen Code"
    program = "qwen"
    way = START_UP_FILE
    effect = "caps every shell command if it was started with BASH_ENV set to the file"
    tried = "0.24.4"
    session_variable = "QWEN_CODE_SESSION_ID"
    usage_files = "projects/*/chats/{}.jsonl"
    # Names of six fields, and the values of all but the command and the output.
    frame = Frame(tokens=36, cut=1000, characters=29_800)
    sent = (908, 2_169)
    then = "start it with BASH_ENV={} qwen, for example by an alias"
    directory = ".qwen"
    usual_model = "qwen3-coder"

    def written_by_model(self, line: dict[str, Any]) -> tuple[str, int] | None:
        usage = line["usageMetadata"]
        return str(line["uuid"]), int(usage["candidatesTokenCount"]) + int(usage.get("thoughtsTokenCount", 0))

    def model(self, place: Place) -> str:
        from tokcap.hooks.settings import model_in_json

        paths = [f"{base}/.qwen/settings.json" for base in (place.project, place.home)]
        return model_in_json(paths, "model", "name") or model_in_json(paths, "model")


QWEN = Qwen()
