"""The plug-in of Hermes, called as Hermes calls it."""

import importlib.util
import json
import os
import subprocess
import sys
import types

import pytest

from tests.support.agent_settings import place_in
from tests.support.reference import recount
from tokcap.hooks.base import Installation
from tokcap.hooks.hermes import HERMES

PROGRAM = os.path.join(os.path.dirname(sys.executable), "tokcap")
LINES = "".join(f"line {number}\n" for number in range(30_000))


@pytest.fixture
def plugin(tmp_path, with_store, monkeypatch):
    """Return a function that installs the plug-in for a program and loads it."""
    limits = {"max_bytes": 50_000}
    module = types.ModuleType("tools.tool_output_limits")
    module.get_tool_output_limits = lambda: limits
    monkeypatch.setitem(sys.modules, "tools", types.ModuleType("tools"))
    monkeypatch.setitem(sys.modules, "tools.tool_output_limits", module)

    def load(program):
        place = place_in(tmp_path)
        path = HERMES.user_settings(place)
        HERMES.install(path, Installation(program, ("--token-limit", "300")))
        file = os.path.join(os.path.dirname(path), "plugins", "tokcap", "__init__.py")
        spec = importlib.util.spec_from_file_location("hermes_plugin", file)
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
        hooks = {}
        context = types.SimpleNamespace(register_hook=lambda name, function: hooks.update({name: function}))
        loaded.register(context)
        assert limits["max_bytes"] > 1 << 20
        return hooks["transform_terminal_output"]

    return load


def test_an_output_is_capped_as_json_and_its_pages_too(plugin):
    capped = plugin(PROGRAM)
    text = capped(command="make", output=LINES, returncode=2, task_id="", env_type="local")
    assert 150 < recount(json.dumps(text, ensure_ascii=False).encode()) <= 300, "as Hermes writes it"
    page = text.split("; ")[-1]
    shown = subprocess.run(page, shell=True, capture_output=True, text=True).stdout
    again = capped(command=page, output=shown, returncode=0)
    assert recount(json.dumps(again, ensure_ascii=False).encode()) <= 300
    assert again.splitlines()[0] in LINES
    assert again.splitlines()[0] not in text.splitlines()


def test_a_short_output_stays_as_it_is(plugin):
    assert plugin(PROGRAM)(command="x", output="a\n\u00e9", returncode=1) == "a\n\u00e9"


def test_without_tokcap_both_ends_of_a_long_output_are_shown(plugin):
    text = plugin("/nowhere/tokcap")(command="x", output=LINES, returncode=0)
    assert len(text) < 50_100
    assert text.startswith("line 0\n")
    assert text.endswith("line 29999\n")
    assert f"[{len(LINES) - 50_000} characters left out]" in text
