"""The example of a Typer tool works as described."""

import importlib.util
import subprocess
import sys

import pytest

from tests.support.program import ROOT
from tests.support.reference import recount

TOOL = ROOT / "examples" / "typer_tool.py"


@pytest.fixture
def directory(tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    for number in range(80):
        (place / f"note{number}.txt").write_text(f"note {number}\nTODO: read it\n")
    return str(place)


@pytest.fixture
def tool(invoke):
    """Call the tool inside this process."""
    spec = importlib.util.spec_from_file_location("typer_tool", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return lambda *words: invoke(*words, app=module.app)


def test_the_tool_has_windows_counts_and_envelopes(directory, tool):
    listed = tool("files", "list", directory, "--token-limit", "100").out
    assert recount(listed) <= 100
    assert listed.startswith(b"path,bytes\r\nnote0.txt,")
    everything = tool("files", "list", directory).out
    assert tool("files", "list", directory, "--token-count").out == b"%d\n" % recount(everything)
    find = ("text", "find", "TODO", directory, "--token-limit", "200")
    found = tool(*find, "--output", "json").json
    assert found["meta"]["truncated"] is True
    assert tool(*find, "--token-offset", str(found["meta"]["next_offset"])).out.startswith(b"note")


def test_results_and_failures_of_the_tool_are_in_the_envelope(directory, tool):
    assert tool("files", "kinds", directory, "--output", "json").json["data"] == {".txt": 80}
    nothing = tool("text", "find", "NOWHERE", directory, "--output", "json")
    assert (nothing.status, nothing.json["ok"]) == (1, False)
    shown = subprocess.check_output(
        [sys.executable, TOOL, "text", "show", f"{directory}/note3.txt"], cwd=ROOT
    )
    assert shown == b"note 3\nTODO: read it\n"
