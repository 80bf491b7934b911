"""Claude Code: documented events get documented answers, and no rule is bypassed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.agent_settings import LAUNCH, place_in, write
from tokcap.hooks.claude_code import CLAUDE_CODE
from tokcap.hooks.claude_rules import could_match, specifier
from tokcap.hooks.rule_files import RulesUnreadable


@pytest.fixture
def place(tmp_path):
    return place_in(tmp_path)


def event(command="git log", mode="bypassPermissions", **changes):
    """The event as the hooks reference shows it."""
    return {
        "session_id": "abc123",
        "transcript_path": "/home/user/.claude/projects/x/transcript.jsonl",
        "cwd": "/home/user/my-project",
        "permission_mode": mode,
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": command, "description": "Show the history", "timeout": 120000},
        "tool_use_id": "toolu_01ABC123",
        **changes,
    }


def rules(place, **permissions):
    write(CLAUDE_CODE.user_settings(place), {"permissions": permissions})


def new_command(said):
    return said and said["hookSpecificOutput"]["updatedInput"]["command"]


def test_the_answer_is_the_whole_input_with_the_command_rewritten_and_no_decision(place):
    assert CLAUDE_CODE.answer(event(), LAUNCH, place) == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "updatedInput": {
                "command": "tokcap -c 'git log'",
                "description": "Show the history",
                "timeout": 120000,
            },
        }
    }


def test_installed_options_stand_in_front_of_the_command(place):
    launch = LAUNCH.but(program="/opt/my tools/tokcap", options=("--token-limit", "900", "--session", "it's"))
    assert new_command(CLAUDE_CODE.answer(event(), launch, place)) == (
        "'/opt/my tools/tokcap' --token-limit 900 --session 'it'\\''s' -c 'git log'"
    )


def test_the_command_is_run_by_the_shell_that_claude_code_uses(tmp_path):
    place = place_in(tmp_path, variables={"SHELL": "/bin/zsh"})
    assert (
        new_command(CLAUDE_CODE.answer(event(), LAUNCH, place)) == "TOKCAP_SHELL=/bin/zsh tokcap -c 'git log'"
    )
    named = place_in(tmp_path, variables={"SHELL": "/bin/zsh", "CLAUDE_CODE_SHELL": "/usr/bin/bash"})
    assert (
        new_command(CLAUDE_CODE.answer(event(), LAUNCH, named))
        == "TOKCAP_SHELL=/usr/bin/bash tokcap -c 'git log'"
    )


def test_a_shell_that_the_user_chose_for_tokcap_is_left_alone(tmp_path):
    place = place_in(tmp_path, variables={"SHELL": "/bin/zsh", "TOKCAP_SHELL": "/bin/dash"})
    assert new_command(CLAUDE_CODE.answer(event(), LAUNCH, place)) == "tokcap -c 'git log'"


def test_without_a_known_shell_only_what_every_shell_reads_alike_is_rewritten(place):
    assert CLAUDE_CODE.answer(event("for i in 1 2; do echo $i; done"), LAUNCH, place) is None
    assert CLAUDE_CODE.answer(event("source venv/bin/activate && pytest"), LAUNCH, place) is None


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "dontAsk"])
def test_where_commands_are_asked_about_nothing_is_rewritten(place, mode):
    rules(place, allow=["Bash(git log *)", "Bash(tokcap *)", "Read"])
    assert CLAUDE_CODE.answer(event(mode=mode), LAUNCH, place) is None


@pytest.mark.parametrize("rule", ["Bash", "Bash(*)", "Bash(:*)"])
@pytest.mark.parametrize("mode", ["default", "acceptEdits", "dontAsk"])
def test_where_the_whole_of_bash_is_allowed_commands_are_rewritten(place, mode, rule):
    rules(place, allow=[rule])
    assert new_command(CLAUDE_CODE.answer(event(mode=mode), LAUNCH, place)) == "tokcap -c 'git log'"


@pytest.mark.parametrize("mode", ["plan", "auto", "manual", "", None])
def test_in_modes_that_judge_a_command_by_its_text_nothing_is_rewritten(place, mode):
    rules(place, allow=["Bash"])
    assert CLAUDE_CODE.answer(event(mode=mode), LAUNCH, place) is None


DENIED = [
    ("Bash(git push *)", "git push origin main"),
    ("Bash(git push:*)", "git push --force"),
    ("Bash(git push)", "git push"),
    ("Bash(curl *)", "make && curl http://x"),
    ("Bash(curl *)", "timeout 5 curl http://x"),
    ("Bash(curl *)", "FOO=1 curl http://x"),
    ("Bash(curl *)", "/usr/bin/curl http://x"),
    ("Bash(curl *)", "c'ur'l http://x"),
    ("Bash(curl *)", 'c"url" http://x'),
    ("Bash(curl *)", "\\curl http://x"),
    ("Bash(curl *)", "cu\\\nrl http://x"),
    ("Bash(curl *)", "echo $(curl http://x)"),
    ("Bash(curl *)", "CURL http://x"),
    ("Bash(curl *)", "$'\\x63url' http://x"),
    ("Bash(* --force)", "git push --force"),
    ("Bash(*secret*)", "cat top-secret.txt"),
    ("Bash(npm run deploy:*)", "npm run deploy -- --prod"),
    ("Bash(cat /home/me/notes)", "cat $HOME/notes"),
    ("Bash(cat /home/me/notes)", "cat ~/notes"),
    ("Bash(git 'push' *)", "git push"),
]


@pytest.mark.parametrize("kind", ["deny", "ask"])
@pytest.mark.parametrize(("rule", "command"), DENIED)
def test_a_command_that_a_rule_stops_is_not_rewritten(place, kind, rule, command):
    rules(place, allow=["Bash"], **{kind: [rule]})
    assert CLAUDE_CODE.answer(event(command, "default"), LAUNCH, place) is None
    assert CLAUDE_CODE.answer(event(command), LAUNCH, place) is None


@pytest.mark.parametrize(("rule", "command"), DENIED)
def test_a_rule_is_found_however_the_command_is_spelled(rule, command):
    assert could_match(specifier(rule), command)
    assert not could_match(specifier(rule), "git log --oneline")


def test_a_move_stays_with_the_shell_whose_directory_claude_code_keeps(place):
    assert (
        new_command(CLAUDE_CODE.answer(event("cd src && git log"), LAUNCH, place))
        == "cd src && tokcap -c 'git log'"
    )
    assert CLAUDE_CODE.answer(event("cd src; git log"), LAUNCH, place) is None


def test_beside_rules_for_other_commands_a_command_is_rewritten(place):
    rules(place, deny=["Bash(git push *)", "WebFetch(domain:x.org)", "mcp__server", "Agent(Explore)"])
    assert new_command(CLAUDE_CODE.answer(event("git log"), LAUNCH, place)) == "tokcap -c 'git log'"


PATH_RULES = [
    "Read(./.env)",
    "Edit(/src/**)",
    "Write(*)",
    "Read",
    "Glob(x)",
    "*",
    "Bash",
    "Bash(*)",
    "New(x)",
]


@pytest.mark.parametrize("kind", ["deny", "ask"])
@pytest.mark.parametrize("rule", PATH_RULES)
def test_beside_a_rule_that_could_stop_any_command_nothing_is_rewritten_and_nothing_installed(
    place, kind, rule
):
    rules(place, allow=["Bash"], **{kind: [rule]})
    assert CLAUDE_CODE.answer(event("cat notes", "default"), LAUNCH, place) is None
    (objection,) = CLAUDE_CODE.objections(place)
    assert rule in objection
    assert "\n" not in objection


@pytest.mark.parametrize(
    "path",
    [
        "{root}/etc/claude-code/managed-settings.json",
        "{root}/etc/claude-code/managed-settings.d/10-rules.json",
        "{root}/Library/Application Support/ClaudeCode/managed-settings.json",
        "{home}/.claude/remote-settings.json",
        "{home}/.claude/settings.json",
        "{project}/.claude/settings.json",
        "{project}/.claude/settings.local.json",
    ],
)
def test_rules_count_in_whichever_settings_file_they_stand(place, path):
    write(
        path.format(root=place.root, home=place.home, project=place.project),
        {"permissions": {"deny": ["Bash(git log)"]}},
    )
    assert CLAUDE_CODE.answer(event(), LAUNCH, place) is None


def test_settings_of_another_configuration_directory_count_instead_of_the_home_directory(tmp_path):
    place = place_in(tmp_path, variables={"CLAUDE_CONFIG_DIR": str(tmp_path / "elsewhere")})
    write(f"{tmp_path}/elsewhere/settings.json", {"permissions": {"deny": ["Bash(git log)"]}})
    assert CLAUDE_CODE.answer(event(), LAUNCH, place) is None


def test_where_only_managed_rules_count_a_users_allow_rule_does_not(place):
    write(f"{place.root}/etc/claude-code/managed-settings.json", {"allowManagedPermissionRulesOnly": True})
    rules(place, allow=["Bash"])
    assert CLAUDE_CODE.answer(event(mode="default"), LAUNCH, place) is None


@pytest.mark.parametrize(
    "settings", ["{", '"text"', '{"permissions": 3}', '{"permissions": {"deny": "Bash"}}', "[1]"]
)
def test_settings_that_cannot_be_understood_are_a_reason_to_do_nothing(place, settings):
    write(CLAUDE_CODE.user_settings(place), settings)
    with pytest.raises(RulesUnreadable):
        CLAUDE_CODE.answer(event(), LAUNCH, place)
    assert CLAUDE_CODE.objections(place)


def test_rules_in_a_profile_of_the_organization_are_a_reason_to_do_nothing(place):
    write(f"{place.root}/Library/Managed Preferences/com.anthropic.claudecode.plist", "binary")
    with pytest.raises(RulesUnreadable):
        CLAUDE_CODE.answer(event(), LAUNCH, place)
    assert CLAUDE_CODE.objections(place)


def test_rules_in_settings_with_comments_are_read(place):
    write(CLAUDE_CODE.user_settings(place), '{"permissions": {"deny": ["Bash(git log)", /* all */ ]}} // end')
    assert CLAUDE_CODE.answer(event(), LAUNCH, place) is None


@pytest.mark.parametrize(
    "flag", ["--disallowedTools", "--disallowed-tools", "--settings", "--settings=x.json", "--agents"]
)
def test_rules_given_as_flags_are_a_reason_to_do_nothing(tmp_path, flag):
    place = place_in(tmp_path, command_line=["node", "claude", flag, "Bash(git log)"])
    assert CLAUDE_CODE.answer(event(), LAUNCH, place) is None


def test_a_command_line_that_cannot_be_seen_is_a_reason_to_do_nothing(tmp_path):
    with pytest.raises(RulesUnreadable):
        CLAUDE_CODE.answer(event(), LAUNCH, place_in(tmp_path, command_line=None))


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /",
        "rm -rf ~",
        "make && rm x",
        "find . -delete",
        "sudo rmdir x",
        "echo x > notes",
        "echo x >> notes",
        "make | tee log",
        "cp a b",
        "sed -i s/a/b/ f",
        "cat .git/config",
        "cat ~/.bashrc",
        "ls --file=.claude",
        "X=.git make",
    ],
)
def test_removals_writes_and_hidden_files_which_claude_code_guards_itself_are_left_alone(place, command):
    assert CLAUDE_CODE.answer(event(command), LAUNCH, place) is None


@pytest.mark.parametrize(
    "command", ["make 2>&1", "make >/dev/null", "ls ..", "ls ./src", "cat a.b", "go test ./..."]
)
def test_what_only_looks_like_one_is_rewritten(place, command, monkeypatch):
    monkeypatch.setattr("tokcap.hooks.commandline.can_be_found", lambda word, path: True)
    assert new_command(CLAUDE_CODE.answer(event(command), LAUNCH, place)) == f"tokcap -c '{command}'"


def test_inside_a_hidden_directory_nothing_is_rewritten(place):
    assert CLAUDE_CODE.answer(event(cwd="/home/user/project/.git"), LAUNCH, place) is None


def test_what_runs_outside_the_sandbox_by_its_name_is_left_alone(place):
    write(CLAUDE_CODE.user_settings(place), {"sandbox": {"enabled": True, "excludedCommands": ["git *"]}})
    assert CLAUDE_CODE.answer(event(), LAUNCH, place) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"hook_event_name": "PostToolUse"},
        {"tool_name": "Read"},
        {"tool_name": "PowerShell"},
        {"tool_input": None},
        {"tool_input": {}},
        {"tool_input": {"command": ["git", "log"]}},
        {"tool_input": {"command": "git log", "run_in_background": True}},
        {"tool_input": {"command": "git log", "dangerouslyDisableSandbox": True}},
        {"agent_id": "a1", "agent_type": "Explore"},
    ],
)
def test_other_events_are_left_alone(place, changes):
    assert CLAUDE_CODE.answer(event(**changes), LAUNCH, place) is None


@given(st.text(max_size=30), st.text(max_size=10), st.text(max_size=10))
def test_a_rule_could_match_every_command_that_begins_with_its_text(prefix, before, after):
    assert could_match(f"{prefix}:*", f"{prefix} {after}")
    assert could_match(f"{prefix}*", prefix + after)
    assert could_match(f"*{prefix}*", before + prefix + after) or not prefix.isascii()
