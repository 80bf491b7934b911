"""Another program edits the settings while a hook is installed or removed. Its edit is not lost."""

import json
import os
import subprocess
import sys

import pytest

from tests.support.tiers import times
from tokcap.errors import HookRefused
from tokcap.hooks import settings
from tokcap.hooks.json_settings import HookEntry

HOOK = [HookEntry("tokcap hook run claude-code || true", "claude-code", "PreToolUse", "Bash", 10)]
TIMEOUT_SECONDS = 60


@pytest.fixture
def file(tmp_path):
    (tmp_path / "agent").mkdir()
    path = tmp_path / "agent" / "settings.json"
    path.write_text('{"mine": 1}')
    return path


def edit_in_between(monkeypatch, step, edit, times=1):
    """Have somebody edit the file after it was read and before it is changed."""
    real, edits = getattr(settings, step), []

    def edited(*arguments):
        made = real(*arguments)
        if len(edits) < times:
            edits.append(edit())
        return made

    monkeypatch.setattr(settings, step, edited)


@pytest.mark.parametrize("way", ["in place", "by renaming"])
def test_an_edit_while_the_hook_is_installed_is_kept(file, monkeypatch, way):
    def edit():
        changed = file.with_name("mine") if way == "by renaming" else file
        changed.write_text('{"mine": 2}')
        changed.replace(file)

    edit_in_between(monkeypatch, "with_additions", edit)
    assert settings.install(str(file), HOOK)
    found = json.loads(file.read_text())
    assert (found["mine"], len(found["hooks"]["PreToolUse"])) == (2, 1)
    settings.remove(str(file), HOOK)
    assert file.read_text() == '{"mine": 2}'
    assert os.listdir(file.parent) == [file.name]


def test_a_file_that_is_created_meanwhile_is_kept(file, monkeypatch):
    file.unlink()
    edit_in_between(monkeypatch, "with_additions", lambda: file.write_text('{"mine": 2}'))
    assert settings.install(str(file), HOOK)
    assert json.loads(file.read_text())["mine"] == 2


def test_an_edit_before_the_file_is_deleted_is_kept(file, monkeypatch):
    file.unlink()
    settings.install(str(file), HOOK)

    def edit():
        file.write_text(json.dumps(json.loads(file.read_text()) | {"mine": 2}))

    edit_in_between(monkeypatch, "without_additions", edit)
    assert settings.remove(str(file), HOOK)
    assert json.loads(file.read_text()) == {"mine": 2}


def test_a_program_that_changes_the_file_all_the_time_is_reported(file, monkeypatch):
    monkeypatch.setattr(settings, "RETRY_SECONDS", 0)
    contents = iter(range(10**6))
    edit_in_between(
        monkeypatch, "with_additions", lambda: file.write_text(f'{{"mine": {next(contents)}}}'), times=10**6
    )
    with pytest.raises(HookRefused, match="changes it all the time"):
        settings.install(str(file), HOOK)
    assert set(json.loads(file.read_text())) == {"mine"}


def test_two_programs_that_install_at_the_same_time_leave_one_entry(file, tmp_path):
    environment = {**os.environ, "HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(file.parent)}
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tokcap", "hook", "install", "claude-code", "-n", str(500 + number)],
            env=environment,
            stderr=subprocess.PIPE,
        )
        for number in range(2 if times() == 1 else 4)
    ]
    for process in running:
        process.communicate(timeout=TIMEOUT_SECONDS)
        assert process.returncode in (0, 1)
    assert file.read_text().count("CLAUDE_CODE_SHELL") == 1
