"""`tokcap mcp wrap` in front of public servers. `.ci/mcp-servers DIRECTORY` installs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support import fake_mcp_server as fake
from tests.support.mcp_client import Agent, read_by_model

pytestmark = pytest.mark.nightly

LIMIT = 300
VARIABLE = "TOKCAP_TESTS_MCP_SERVERS"
PLACE = Path(os.environ.get(VARIABLE, "/nowhere"))
PROGRAMS = {
    "filesystem": PLACE / "node_modules/.bin/mcp-server-filesystem",
    "git": PLACE / "python/bin/mcp-server-git",
}


def wrapped(tmp_path: Path, name: str, *arguments: str) -> Agent:
    program = PROGRAMS[name]
    if not program.exists():
        pytest.skip(
            f"{program.name} is not installed: .ci/mcp-servers DIRECTORY; export {VARIABLE}=DIRECTORY"
        )
    # A server has packages of its own, perhaps for another Python.
    server = ("env", "-u", "PYTHONPATH", str(program), *arguments)
    return Agent(tmp_path / "data", "wrap", "-n", str(LIMIT), "--", *server)


def assert_capped(agent: Agent, answer, pattern: str) -> None:
    """The result is within the limit, and the tool of the proxy finds in the rest what is not shown."""
    assert not answer.is_error
    assert (
        LIMIT // 3
        < read_by_model({"content": answer.content, "structuredContent": answer.structured})
        <= LIMIT
    )
    assert not re.search(pattern, answer.text, re.MULTILINE)
    found = agent.call("tokcap_show", handle=answer.handle, pattern=pattern)
    assert found.tokens <= LIMIT
    assert re.search(pattern.strip("^$"), found.text)


def test_filesystem(tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "text").write_text("".join(f"line {number}\n" for number in range(3000)))
    rows = [{"id": number, "name": f"item {number}"} for number in range(500)]
    (tmp_path / "files" / "rows.json").write_text(json.dumps(rows))
    with wrapped(tmp_path, "filesystem", str(tmp_path / "files")) as agent:
        tools = agent.tools()
        assert {"read_text_file", "tokcap_show"} <= {*tools}
        # The client refuses structured content that is not valid by them.
        assert "outputSchema" in tools["read_text_file"]
        answer = agent.call("read_text_file", path=str(tmp_path / "files" / "text"))
        assert_capped(agent, answer, "^line 1234$")
        answer = agent.call("read_text_file", path=str(tmp_path / "files" / "rows.json"))
        assert answer.tokens <= LIMIT
        assert {"id": 0, "name": "item 0"} in json.loads(answer.texts[0])
        value = agent.call("tokcap_show", handle=answer.handle, pointer="/321/name")
        assert value.text == "item 321"
        for width, kind in ((70, "image"), (9000, "text")):
            (tmp_path / "files" / "picture.png").write_bytes(fake.png(width, 70))
            block, *_ = agent.call("read_media_file", path=str(tmp_path / "files" / "picture.png")).content
            assert block["type"] == kind
        assert block["text"].startswith("[image/png 9000x70, 20 KB, about ")
        assert "rows.json" in agent.call("list_directory", path=str(tmp_path / "files")).text
        assert agent.call("read_text_file", path="/etc/passwd").is_error


def test_git(tmp_path):
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "file").write_text("old\n")
    for words in ("init -q", "add file", "-c user.name=a -c user.email=a@b commit -qm first"):
        subprocess.run(["git", *words.split()], cwd=repository, check=True)
    (repository / "file").write_text("".join(f"new {number}\n" for number in range(2000)))
    with wrapped(tmp_path, "git", "--repository", str(repository)) as agent:
        answer = agent.call("git_diff_unstaged", repo_path=str(repository))
        assert_capped(agent, answer, r"^\+new 1234$")
        assert "first" in agent.call("git_log", repo_path=str(repository)).text
