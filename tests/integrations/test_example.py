"""The example of a Typer tool works as described."""

import json
import subprocess
import sys

import pytest

from tests.support.program import ROOT
from tests.support.reference import recount


@pytest.fixture
def directory(tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    for number in range(80):
        (place / f"note{number}.txt").write_text(f"note {number}\nTODO: read it\n")
    return place


def tool(*words) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, ROOT / "examples" / "typer_tool.py", *words],
        capture_output=True,
        cwd=ROOT,
        check=False,
    )


def test_the_tool_has_windows_counts_and_envelopes(directory):
    listed = tool("files", "list", directory, "--token-limit", "100").stdout
    assert recount(listed) <= 100
    assert listed.startswith(b"path,bytes\r\nnote0.txt,")
    everything = tool("files", "list", directory).stdout
    assert tool("files", "list", directory, "--token-count").stdout == b"%d\n" % recount(everything)
    found = json.loads(
        tool("text", "find", "TODO", directory, "--output", "json", "--token-limit", "200").stdout
    )
    assert found["meta"]["truncated"] is True
    going_on = tool(
        "text",
        "find",
        "TODO",
        directory,
        "--token-limit",
        "200",
        "--token-offset",
        str(found["meta"]["next_offset"]),
    )
    assert going_on.stdout.startswith(b"note")


def test_results_and_failures_of_the_tool_are_in_the_envelope(directory):
    assert json.loads(tool("files", "kinds", directory, "--output", "json").stdout)["data"] == {".txt": 80}
    nothing = tool("text", "find", "NOWHERE", directory, "--output", "json")
    assert (nothing.returncode, json.loads(nothing.stdout)["ok"]) == (1, False)
    assert tool("text", "show", directory / "note3.txt").stdout == b"note 3\nTODO: read it\n"
