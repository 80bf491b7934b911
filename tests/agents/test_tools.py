"""`hook install --tools` with the real agents: what their model receives of tools that are not the shell."""

import json
import re
import sys

import pytest

from tests.support import fake_mcp_server
from tests.support.agents import box
from tests.support.agents.fake_model import LONG_PAGE
from tests.support.agents.programs import BY_NAME
from tests.support.reference import recount

pytestmark = pytest.mark.nightly

LIMIT = 1000
FRAME_TOKENS = 40
SERVER = [sys.executable, fake_mcp_server.__file__]
SOME = {"count": 900}


class Case:
    """What one agent calls, and how it knows the MCP server `table`."""

    def __init__(self, tools, calls, *, numbers="", arguments=(), files=None):
        self.tools = tools
        self.script = []
        for name, given in calls:
            self.script += [{"tool": name, "arguments": given}, "{next}"]
        # How the agent writes the number of a line of a file.
        self.numbers = numbers
        self.arguments = arguments
        self.files = files or {}


def opencode_settings() -> dict:
    given = BY_NAME["opencode"].files[".config/opencode/opencode.json"]
    return {**given, "mcp": {"table": {"type": "local", "command": SERVER, "enabled": True}}}


CLAUDE_SETTINGS = {
    # Else the model has to search for some tools first.
    "env": {"ENABLE_TOOL_SEARCH": "false"},
    # Else the vendor is asked about the address of a page.
    "skipWebFetchPreflight": True,
}
LOCAL = {"command": SERVER[0], "args": SERVER[1:]}
CASES = {
    "claude-code": Case(
        "Read,WebFetch,mcp__.*",
        [
            ("Read", {"file_path": "PROJECT/big.txt"}),
            ("WebFetch", {"url": f"SECURE{LONG_PAGE}", "prompt": "Repeat all of it."}),
            ("mcp__table__text", SOME),
            ("mcp__table__json", SOME),
        ],
        numbers=r"(\d+)\t",
        arguments=(
            *BY_NAME["claude-code"].arguments,
            *("--mcp-config", json.dumps({"mcpServers": {"table": LOCAL}})),
        ),
        files={".claude/settings.json": json.dumps(CLAUDE_SETTINGS)},
    ),
    "copilot": Case(
        "view,glob,table-.*",
        [("glob", {"pattern": "**/*"}), ("table-text", SOME), ("table-json", SOME)],
        files={
            ".copilot/mcp-config.json": json.dumps(
                {"mcpServers": {"table": {"type": "local", "tools": ["*"], **LOCAL}}}
            )
        },
    ),
    "opencode": Case(
        "read,webfetch,table_.*",
        [
            ("read", {"filePath": "PROJECT/big.txt"}),
            ("webfetch", {"url": f"URL{LONG_PAGE}", "format": "text"}),
            ("table_text", SOME),
            ("table_json", SOME),
        ],
        numbers=r"(\d+): ",
        files={".config/opencode/opencode.json": json.dumps(opencode_settings())},
    ),
    "pi": Case(
        "read,ls",
        [("read", {"path": "PROJECT/big.txt"}), ("ls", {"path": "PROJECT/many"})],
        arguments=(*BY_NAME["pi"].arguments[:-1], "--tools", "read,bash,ls", "go"),
    ),
    "vibe": Case("read_file", [("read_file", {"path": "PROJECT/big.txt"})]),
}
FILES = {
    "project/big.txt": "".join(f"line {number} of the big file\n" for number in range(1, 1901)),
    **{f"project/many/file_{number:04}.txt": "" for number in range(400)},
}


@pytest.mark.parametrize("agent", CASES)
def test_results_of_other_tools_are_capped_stored_and_can_be_paged(agent, tmp_path):
    if reason := box.reason_to_skip(agent):
        pytest.skip(reason)
    case = CASES[agent]
    install = ("--token-limit", str(LIMIT), "--tokenizer", "cl100k_base", "--tools", case.tools)
    ran = box.run(agent, case.script, tmp_path / "home", install, case.arguments, {**FILES, **case.files})
    assert len(ran.results) == len(case.script), ran.said
    for call, result in zip(case.script, ran.results, strict=True):
        assert recount(result.encode()) <= LIMIT + FRAME_TOKENS, call
        assert "tokcap show" in result, call
    for result, page in zip(ran.results[::2], ran.results[1::2], strict=True):
        # The page has other lines than the result, and as many.
        assert recount(page.encode()) > LIMIT // 2
        assert page.splitlines()[0] not in result.splitlines()
        if "json" in str(case.script[ran.results.index(result)]):
            for text in (result, page):
                document = next(line for line in text.splitlines() if line.startswith("[{"))
                assert json.loads(document)[0]["name"].startswith("item ")
    if case.numbers:
        for result in ran.results[:2]:
            numbered = re.findall(rf"(?m)^{case.numbers}line (\d+) of", result)
            assert len(numbered) > 50
            assert all(number == of_file for number, of_file in numbered)
