"""Another program edits the settings while a hook is installed and removed. None of its edits is lost."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from tests.support.tiers import nightly, times
from tokcap.errors import HookRefused
from tokcap.hooks import held_file, settings, settings_file
from tokcap.hooks.settings_entry import HookEntry

EDITS = 100 if times() == 1 else 250
COMMAND = "tokcap hook run claude-code --token-limit 500 || true"
HOOK = [HookEntry("claude-code", "PreToolUse", "Bash", 10, COMMAND)]
TIMEOUT_SECONDS = 60

# Adds one key after the other, and looks each time whether the earlier ones are there.
EDITOR = textwrap.dedent(
    """
    import json, os, random, sys, time
    path, way, seed, edits = sys.argv[1:]
    pause = random.Random(seed)

    def put(text):
        if way == "in place":
            with open(path, "w") as file:
                file.write(text)
        else:
            with open(path + ".mine", "w") as file:
                file.write(text)
            os.rename(path + ".mine", path)

    print("ready", flush=True)
    for number in range(int(edits)):
        with open(path) as file:
            found = json.load(file)
        lost = [key for key in map(str, range(number)) if key not in found]
        if lost:
            sys.exit(f"lost {lost} before edit {number}")
        found[str(number)] = "x" * pause.randrange(40)
        put(json.dumps(found))
        time.sleep(pause.random() / 500)
    """
)


def edit_meanwhile(file, way, change):
    """Let an editor work on the file and call `change` until it has ended. Return how often that worked."""
    editor = subprocess.Popen(
        [sys.executable, "-c", EDITOR, str(file), way, "7", str(EDITS)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    changed = 0
    try:
        assert editor.stdout.readline() == "ready\n"
        while editor.poll() is None:
            try:
                changed += change()
            except HookRefused as refused:
                assert "changes it all the time" in str(refused)  # noqa: PT017  # it may happen or not
    finally:
        editor.kill()
        complaint = editor.communicate(timeout=TIMEOUT_SECONDS)[1]
    assert complaint == ""
    return changed


@pytest.fixture
def file(tmp_path):
    (tmp_path / "agent").mkdir()
    path = tmp_path / "agent" / "settings.json"
    path.write_text("{}")
    return path


def install_and_remove(file):
    return settings.install(str(file), HOOK) + settings.remove(str(file), HOOK)


@pytest.mark.parametrize("way", ["in place", "by renaming"])
def test_no_edit_is_lost(file, way):
    assert edit_meanwhile(file, way, lambda: install_and_remove(file)) > 0
    settings.install(str(file), HOOK)
    found = json.loads(file.read_text())
    assert set(map(str, range(EDITS))) <= set(found)
    assert settings.are_installed(str(file), file.read_bytes(), HOOK)
    assert set(os.listdir(file.parent)) <= {file.name, file.name + settings_file.BACKUP_SUFFIX}


@nightly
def test_the_program_itself_loses_no_edit_either(file, tokcap, tmp_path):
    home = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(file.parent)}

    def install_by_the_program():
        ran = tokcap("hook", "install", "claude-code", "-n", "500", env=home)
        assert ran.status == 0
        return tokcap("hook", "remove", "claude-code", env=home).status == 0

    assert edit_meanwhile(file, "in place", install_by_the_program) > 0
    assert set(map(str, range(EDITS))) <= set(json.loads(file.read_text()))


def test_a_file_that_somebody_only_reads_can_be_changed(file, monkeypatch):
    monkeypatch.setattr(held_file, "LEASE_SECONDS", 0.1)
    with file.open():
        assert settings.install(str(file), HOOK)
        assert settings.remove(str(file), HOOK)
    assert file.read_text() == "{}"
    assert os.listdir(file.parent) == [file.name]


# What happens between the reading of the file and its change, on a system without leases.
@pytest.mark.parametrize("way", ["in place", "by renaming"])
@pytest.mark.parametrize("can_exchange", [True, False])
def test_without_a_lease_an_edit_in_between_is_kept(file, monkeypatch, way, can_exchange):
    monkeypatch.setattr(held_file, "lease", lambda _: None)
    if not can_exchange:
        monkeypatch.setattr(held_file, "exchange", lambda *_: False)
    file.write_text('{"mine": 1}')
    with_additions, edits = settings.with_additions, []

    def edited_in_between(*arguments):
        made = with_additions(*arguments)
        if not edits:
            edits.append(way)
            changed = file.with_name("mine") if way == "by renaming" else file
            changed.write_text('{"mine": 2}')
            changed.replace(file)
        return made

    monkeypatch.setattr(settings, "with_additions", edited_in_between)
    assert settings.install(str(file), HOOK)
    assert edits
    found = json.loads(file.read_text())
    assert (found["mine"], len(found["hooks"]["PreToolUse"])) == (2, 1)
    settings.remove(str(file), HOOK)
    assert file.read_text() == '{"mine": 2}'
    assert os.listdir(file.parent) == [file.name]


def test_a_file_that_is_created_in_between_is_kept(tmp_path, monkeypatch):
    file = tmp_path / "settings.json"
    with_additions, edits = settings.with_additions, []

    def created_in_between(*arguments):
        made = with_additions(*arguments)
        if not edits:
            edits.append(file.write_text('{"mine": 2}'))
        return made

    monkeypatch.setattr(settings, "with_additions", created_in_between)
    assert settings.install(str(file), HOOK)
    assert json.loads(file.read_text())["mine"] == 2


@pytest.mark.parametrize("leased", [True, False])
def test_an_edit_before_a_deletion_is_kept(tmp_path, monkeypatch, leased):
    file = tmp_path / "settings.json"
    if not leased:
        monkeypatch.setattr(held_file, "lease", lambda _: None)
    settings.install(str(file), HOOK)
    without_additions, edits = settings.without_additions, []

    def edited_in_between(*arguments):
        made = without_additions(*arguments)
        if not edits:
            changed = json.loads(file.read_text() if not leased else arguments[1]) | {"mine": 2}
            other = file.with_name("mine")
            other.write_text(json.dumps(changed))
            edits.append(other.replace(file))
        return made

    monkeypatch.setattr(settings, "without_additions", edited_in_between)
    assert settings.remove(str(file), HOOK)
    assert json.loads(file.read_text()) == {"mine": 2}


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
