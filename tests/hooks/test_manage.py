"""`tokcap hook list | install | remove | print`, and what they refuse."""

import os
import sys
from pathlib import Path

import pytest

from tests.support.agent_settings import place_in, write
from tokcap.errors import HookRefused
from tokcap.hooks import AGENTS, manage
from tokcap.hooks.manage import UNSUPPORTED


@pytest.fixture
def place(tmp_path):
    return place_in(tmp_path)


@pytest.fixture(autouse=True)
def started_by_name(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["tokcap"])


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("project", [False, True])
def test_a_hook_is_installed_listed_and_removed(place, name, project):
    if project and not AGENTS[name].project_settings(place):
        with pytest.raises(HookRefused, match="leave out --project"):
            manage.install(name, place, (), project=True)
        return
    said = manage.install(name, place, (), project=project)
    path = manage.settings_path(AGENTS[name], place, project=project)
    assert path in said
    assert path.startswith(place.project if project else place.home)
    assert any(path in line for line in manage.list_lines(place) if line.startswith(name))
    again = manage.install(name, place, (), project=project)
    assert again.startswith(f"already installed in {path}")
    assert manage.remove(name, place, project=project) == f"removed from {path}"
    assert manage.remove(name, place, project=project) is None
    assert not os.path.exists(path)


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_an_agent_without_a_way_in_is_refused_in_one_line_and_gets_a_rule(place, name):
    for do in (
        lambda: manage.install(name, place, (), project=False),
        lambda: manage.remove(name, place, project=False),
    ):
        with pytest.raises(HookRefused) as refused:
            do()
        assert UNSUPPORTED[name] in str(refused.value)
        assert "\n" not in str(refused.value)
    rule = manage.printed(name, place, ("--token-limit", "900"), project=False)
    assert "tokcap -n 900 --keep auto -c 'COMMAND'" in rule


def test_a_session_of_the_agent_is_refused_if_the_agent_names_none(place):
    with pytest.raises(HookRefused, match="--session @agent: pi does not tell"):
        manage.install("pi", place, ("--session", "@agent"), project=False)
    manage.install("claude-code", place, ("--session", "@agent"), project=False)
    shell = Path(place.home, ".claude", "tokcap", "bash").read_text()
    assert "export TOKCAP_SESSION_FROM='CLAUDE_CODE_SESSION_ID'" in shell
    assert "TOKCAP_SESSION=" not in shell


def test_tools_are_refused_for_an_agent_whose_results_cannot_be_replaced(place):
    for name, tool in (("codex", "Read"), ("claude-code", "Nothing"), ("opencode", "Read")):
        with pytest.raises(HookRefused, match=f"--tools {tool}: "):
            manage.install(name, place, ("--tools", tool), project=False)
        assert not AGENTS[name].is_present(place)
    assert manage.install("claude-code", place, ("--tools", "Read,mcp__git__log"), project=False)


def test_an_env_file_of_the_project_that_gemini_would_read_instead_is_reported(place):
    write(f"{place.project}/.env", "A=1\n")
    assert f"it reads {place.project}/.env instead" in manage.install("gemini", place, (), project=False)
    write(f"{place.project}/.env", "A=1\nBASH_ENV=x\n")
    assert "instead" not in manage.install("gemini", place, (), project=False)


def test_an_unknown_agent_is_refused(place):
    with pytest.raises(HookRefused, match="tokcap hook list"):
        manage.install("nobody", place, (), project=False)


def test_the_hook_names_a_program_that_will_still_be_there(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.gettempdir", lambda: "/no/temporary/files")
    for directory, stable in (("bin", True), (".cache/uv/x/bin", False)):
        program = tmp_path / directory / "tokcap"
        program.parent.mkdir(parents=True)
        program.write_text("")
        program.chmod(0o755)
        assert manage.lasting_program(str(program)) == (str(program) if stable else "tokcap")
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "bin" / "tokcap")])
    assert manage.wanted_installation(()).program.startswith(str(tmp_path))


@pytest.fixture
def said(inside, tmp_path, monkeypatch):
    """What `tokcap hook …` says."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: inside("hook", *arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-n", "0"], b"Invalid value for '--token-limit' / '-n': '0' is not a whole number"),
        (["--session", ""], b"Invalid value for '--session': '' is not the name of a session"),
        (["--session", "a b"], b"invalid session name 'a b': "),
    ],
)
def test_bad_options_are_bad_usage_and_nothing_is_written(said, arguments, message):
    refused = said("install", "claude-code", *arguments)
    assert (refused.status, refused.out) == (2, b"")
    assert refused.err.startswith(b"tokcap: hook install: " + message)
    assert not (Path.home() / ".claude").exists()


def test_a_home_of_any_name_is_listed_on_one_line(said, tmp_path, monkeypatch):
    home = os.fsencode(tmp_path) + b"/x\n\x1b[31m"
    os.mkdir(home)
    monkeypatch.setenv("HOME", os.fsdecode(home))
    assert said("install", "claude-code").status == 0
    (line,) = (line for line in said("list").out.splitlines() if line.startswith(b"claude-code: inst"))
    assert b"/x\\x0a\\x1b[31m/.claude" in line


def test_a_home_that_json_cannot_name_is_refused(said, tmp_path, monkeypatch):
    home = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(home)
    monkeypatch.setenv("HOME", os.fsdecode(home))
    refused = said("install", "claude-code")
    assert refused.status == 1
    assert b"not UTF-8" in refused.err
    assert list(os.walk(home + b"/.claude")) in ([], [(home + b"/.claude", [], [])])


def test_a_current_directory_that_no_longer_exists_is_reported(said, tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert said("install", "claude-code", "--project").err == (
        b"tokcap: the current directory no longer exists; change to another one\n"
    )
    monkeypatch.chdir(tmp_path)


def test_installing_says_what_the_hook_still_needs(place, monkeypatch):
    monkeypatch.setattr("sys.argv", ["/tmp/passing/tokcap"])
    monkeypatch.setenv("PATH", "")
    said = manage.install("claude-code", place, ("--token-limit", "500"), project=False)
    for session, is_missing in (((), True), (("--session", "s"), False)):
        options = ("--token-limit", "500", *session, "--repeat", "mark")
        said = manage.install("claude-code", place, options, project=False)
        assert ("--repeat has an effect only while TOKCAP_SESSION names a session" in said) == is_missing
    assert said.endswith("; tokcap is not on PATH: the hook has no effect until it is")
    monkeypatch.setattr("sys.argv", [os.path.join(os.path.dirname(sys.executable), "tokcap")])
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable))
    monkeypatch.setattr("tempfile.gettempdir", lambda: os.path.dirname(sys.executable))
    said = manage.install("codex", place, (), project=False)
    assert "may be removed with its directory: the hook calls the tokcap that is on PATH then" in said
