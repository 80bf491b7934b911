"""Gemini CLI: documented events get documented answers, and no rule is bypassed."""

import shutil

import pytest

from tests.support.agent_settings import LAUNCH, place_in, write
from tokcap.hooks.gemini import GEMINI
from tokcap.hooks.rule_files import RulesUnreadable

BASH = shutil.which("bash")


@pytest.fixture
def place(tmp_path):
    place = place_in(tmp_path)
    allow_all(place)
    return place


def allow_all(place, **settings):
    write(GEMINI.user_settings(place), {"tools": {"allowed": ["run_shell_command"]}, **settings})


def event(command="git log", **changes):
    """The event as the hooks reference describes it."""
    return {
        "session_id": "abc123",
        "transcript_path": "/home/user/.gemini/tmp/x/chats/session.json",
        "cwd": "/home/user/my-project",
        "hook_event_name": "BeforeTool",
        "timestamp": "2026-03-01T10:00:00.000Z",
        "tool_name": "run_shell_command",
        "tool_input": {"command": command, "description": "Show the history"},
        **changes,
    }


def test_the_answer_overrides_the_command_and_decides_nothing(place):
    assert GEMINI.answer(event(), LAUNCH, place) == {
        "hookSpecificOutput": {
            "hookEventName": "BeforeTool",
            "tool_input": {"command": f"TOKCAP_SHELL={BASH} tokcap -c 'git log'"},
        }
    }


def test_the_directory_is_not_kept_so_a_move_is_wrapped_with_the_rest(place):
    said = GEMINI.answer(event("cd src && git log"), LAUNCH, place)
    assert said["hookSpecificOutput"]["tool_input"]["command"].endswith("tokcap -c 'cd src && git log'")


@pytest.mark.parametrize("settings", [{}, {"tools": {}}, {"tools": {"allowed": ["run_shell_command(git)"]}}])
def test_where_commands_are_asked_about_nothing_is_rewritten(tmp_path, settings):
    place = place_in(tmp_path)
    write(GEMINI.user_settings(place), settings)
    assert GEMINI.answer(event(), LAUNCH, place) is None


RULES = [
    {"tools": {"allowed": ["run_shell_command"], "exclude": ["run_shell_command(rm)"]}},
    {"tools": {"allowed": ["run_shell_command"], "core": ["run_shell_command(git)", "read_file"]}},
    {"tools": {"allowed": ["run_shell_command"], "confirmationRequired": ["run_shell_command"]}},
    {"tools": {"allowed": ["ShellTool"]}, "excludeTools": ["ShellTool(rm)"]},
    {"tools": {"allowed": ["ShellTool"]}, "coreTools": ["ShellTool(git)"]},
    {"tools": {"allowed": ["run_shell_command"]}, "policyPaths": ["~/rules.toml"]},
    {"tools": {"allowed": ["run_shell_command"]}, "security": {"enableConseca": True}},
]


@pytest.mark.parametrize("settings", RULES)
def test_beside_rules_for_single_commands_nothing_is_rewritten_and_nothing_installed(tmp_path, settings):
    place = place_in(tmp_path)
    write(GEMINI.project_settings(place), settings)
    assert GEMINI.answer(event(), LAUNCH, place) is None
    assert "\n" not in GEMINI.objections(place)[0]


@pytest.mark.parametrize(
    "path",
    [
        "{root}/etc/gemini-cli/policies/admin.toml",
        "{home}/.gemini/policies/auto-saved.toml",
        "{project}/.gemini/policies/team.toml",
        "{home}/.gemini/extensions/some/policies/own.toml",
    ],
)
def test_beside_a_policy_file_nothing_is_rewritten_and_nothing_installed(place, path):
    path = path.format(root=place.root, home=place.home, project=place.project)
    write(
        path,
        '[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = "git"\ndecision = "deny"\npriority = 1\n',
    )
    assert GEMINI.answer(event(), LAUNCH, place) is None
    assert path in GEMINI.objections(place)[0]


@pytest.mark.parametrize("flag", ["--policy", "--admin-policy=x.toml"])
def test_policies_given_as_flags_are_a_reason_to_do_nothing(tmp_path, flag):
    place = place_in(tmp_path, command_line=["node", "gemini", flag, "x.toml"])
    allow_all(place)
    assert GEMINI.answer(event(), LAUNCH, place) is None


@pytest.mark.parametrize(
    "command",
    [
        "echo a > b",
        "sort < a",
        "echo $(id)",
        "echo `id`",
        "echo $HOME",
        "(git log)",
        "git log\nid",
        "echo 'a",
        "{ id; }",
    ],
)
def test_what_gemini_cli_asks_about_in_spite_of_an_allow_rule_is_left_alone(place, command):
    assert GEMINI.answer(event(command), LAUNCH, place) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"hook_event_name": "AfterTool"},
        {"tool_name": "read_file"},
        {"tool_input": 3},
        {"tool_input": {"command": None}},
        {"tool_input": {"command": "git log", "is_background": True}},
    ],
)
def test_other_events_are_left_alone(place, changes):
    assert GEMINI.answer(event(**changes), LAUNCH, place) is None


def test_settings_that_cannot_be_understood_are_a_reason_to_do_nothing(place):
    write(GEMINI.project_settings(place), "{ tools")
    with pytest.raises(RulesUnreadable):
        GEMINI.answer(event(), LAUNCH, place)
    assert GEMINI.objections(place)
