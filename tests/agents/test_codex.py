"""Codex runs commands in more ways than one: from JavaScript (code mode of newer models), in sandboxes."""

import pytest

from tests.support.agents import box
from tests.support.agents.outputs import ERROR_LINE
from tests.support.agents.programs import CODEX_SETTINGS
from tests.support.reference import recount

LIMIT = 1000
FRAME_TOKENS = 40
INSTALL = ("--token-limit", str(LIMIT), "--tokenizer", "cl100k_base")
SCRIPT = ["python3 build.py", "{next}", "touch made.txt; echo $?"]
# Models with and without code mode.
MODELS = {"direct": "gpt-5.1", "code mode": "gpt-6-sol"}
SANDBOXES = ("danger-full-access", "workspace-write", "read-only")

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("sandbox", SANDBOXES)
@pytest.mark.parametrize("model", MODELS)
def test_commands_are_capped_from_code_and_in_sandboxes(model, sandbox, tmp_path):
    if reason := box.reason_to_skip("codex"):
        pytest.skip(reason)
    files = {".codex/config.toml": CODEX_SETTINGS.replace(MODELS["direct"], MODELS[model])}
    arguments = ("exec", "--skip-git-repo-check", "--sandbox", sandbox, "go")
    ran = box.run("codex", SCRIPT, tmp_path / "home", INSTALL, arguments, files)
    assert len(ran.results) == len(SCRIPT), ran.said
    first, page, made = ran.results
    assert ERROR_LINE in first
    assert "exit_code=1" in first or "exited with code 1" in first
    assert LIMIT // 2 < recount(first.encode()) <= LIMIT + FRAME_TOKENS
    # The sandbox decides as without tokcap.
    can_write = sandbox != "read-only"
    assert (tmp_path / "home" / "project" / "made.txt").exists() == can_write, made
    # Where nothing can be stored, the command runs again.
    assert ("tokcap show" if can_write else "tokcap --token-offset ") in first
    assert LIMIT // 2 < recount(page.encode()) <= LIMIT + FRAME_TOKENS
    assert "[    1/5000]" not in page
    assert "CC src/module_" in page
