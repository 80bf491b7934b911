"""Plug-ins in JavaScript for agents that run them: they send results of tools to `tokcap hook run NAME`.

An event is `{"text": …}`, or with `file` the path of the whole result; the answer has the capped text.
"""

from __future__ import annotations

import os

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from tokcap.hooks.base import Cap, Installation
    from tokcap.hooks.own_files import OwnFile

DATA = os.path.join(os.path.dirname(__file__), "data")


def plugin_file(path: str, name: str, wanted: Installation) -> OwnFile:
    """Return the plug-in of an agent, to be written to a path."""
    import json

    from tokcap.hooks.own_files import OwnFile, marked

    with open(os.path.join(DATA, f"{name}.js"), encoding="utf-8") as file:
        text = file.read()
    tools = [tool for tool in wanted.option("--tools").split(",") if tool]
    words = [wanted.program, "hook", "run", name, *wanted.options]
    text = text.replace('"@tools@"', json.dumps(tools)).replace('"@words@"', json.dumps(words))
    return OwnFile(path, f"// {marked(wanted)}\n{text}")


def capped_text(event: dict[str, Any], cap: Cap) -> dict[str, Any] | None:
    """Return the answer to an event of a plug-in, or None if the text stays as it is."""
    from tokcap.hooks.tool_result import whole_text

    text = str(event.get("text") or "")
    capped = cap(whole_text(text, str(event.get("file") or ""))).rstrip("\n")
    return None if capped == text.rstrip("\n") else {"text": capped}
