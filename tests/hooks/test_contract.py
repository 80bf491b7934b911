"""Every agent of the table keeps the same contract, and so does an agent that is added from outside."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.agent_settings import place_in, write
from tokcap.doctor import agents
from tokcap.environment import Environment
from tokcap.errors import HookRefused
from tokcap.hooks import AGENTS, manage
from tokcap.hooks.base import Agent, Installation, Launch
from tokcap.hooks.settings_agent import SettingsAgent
from tokcap.hooks.unsupported import UNSUPPORTED

COMMAND = "git log"

# A settings file that allows all shell commands, and the agent's documented event for one.
ALLOWED = {
    "claude-code": {"permissions": {"allow": ["Bash"]}},
    "gemini": {"tools": {"allowed": ["run_shell_command"]}},
    "toy": {},
}
EVENTS = {
    "claude-code": {
        "hook_event_name": "PreToolUse",
        "permission_mode": "default",
        "cwd": "/",
        "tool_name": "Bash",
        "tool_input": {"command": COMMAND},
    },
    "gemini": {
        "hook_event_name": "BeforeTool",
        "tool_name": "run_shell_command",
        "tool_input": {"command": COMMAND},
    },
    "toy": {"run": COMMAND},
}


class Toy(SettingsAgent):
    """An agent with an event format of its own."""

    name = "toy"
    title = "Toy"
    effect = "caps everything"
    project_variable = "TOY_PROJECT"
    no_answer = b"null\n"
    event = "OnCommand"
    matcher = "shell"
    timeout = 1

    def user_settings(self, place):
        return f"{place.home}/.toy/settings.json"

    def project_settings(self, place):
        return f"{place.project}/.toy/settings.json"

    def objections(self, place):
        return []

    def answer(self, event, launch, place):
        return {"run": " ".join([launch.program, *launch.options, "-c", f"'{event['run']}'"])}


class Profile(Agent):
    """An agent that is reached through a line in a text file instead of a hook."""

    name = "profile"
    title = "Profile"
    effect = "sets its shell"
    project_variable = "PROFILE_PROJECT"

    def user_settings(self, place):
        return f"{place.home}/.profile-agent/rc"

    def project_settings(self, place):
        return f"{place.project}/.profile-agent/rc"

    def objections(self, place):
        return []

    def installation(self, path):
        lines = Path(path).read_text().splitlines() if os.path.exists(path) else []
        found = [line.split()[1:] for line in lines if line.startswith("shell ")]
        return Installation(found[0][0], tuple(found[0][1:])) if found else None

    def install(self, path, wanted):
        if self.installation(path) == wanted:
            return False
        write(path, self.printed(wanted))
        return True

    def remove(self, path):
        found = os.path.exists(path)
        if found:
            os.unlink(path)
        return found

    def printed(self, wanted):
        return " ".join(["shell", wanted.program, *wanted.options]) + "\n"


TOY, PROFILE = Toy(), Profile()


@pytest.fixture
def added():
    """The table with two agents more."""
    AGENTS.add("toy", f"{__name__}:TOY")
    AGENTS.add("profile", f"{__name__}:PROFILE")
    yield AGENTS
    AGENTS.remove("toy")
    AGENTS.remove("profile")


@pytest.fixture(params=[*AGENTS, "toy"])
def agent(request, added) -> Agent:
    return added[request.param]


@pytest.fixture
def place(tmp_path):
    return place_in(tmp_path)


WANTED = Installation("/opt/bin/tokcap", ("--token-limit", "900", "--session", "it's mine"))


def below(directory) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in Path(directory).rglob("*") if path.is_file()}


def test_there_are_settings_and_an_event_of_every_agent():
    assert set(ALLOWED) == set(EVENTS) == {*AGENTS, "toy"}


def test_an_agent_describes_itself_in_single_lines(agent):
    assert AGENTS[agent.name] is agent
    for text in (agent.name, agent.title, agent.effect, agent.project_variable):
        assert text
        assert "\n" not in text


def test_settings_lie_below_the_home_and_the_project(agent, place):
    assert agent.user_settings(place).startswith(place.home)
    assert agent.project_settings(place).startswith(place.project)
    assert not agent.is_present(place)
    os.makedirs(os.path.dirname(agent.user_settings(place)))
    assert agent.is_present(place)


def test_an_untouched_machine_gives_no_objection(agent, place):
    assert agent.objections(place) == []


@pytest.mark.parametrize("before", [None, "", '{\n  // mine\n  "a": [1, 2],\n}\n'])
def test_a_hook_is_installed_once_read_back_and_removed_without_a_trace(agent, place, before):
    path = agent.user_settings(place)
    if before is not None:
        write(path, before)
    files = below(place.home)
    assert agent.installation(path) is None
    assert not agent.remove(path)
    assert agent.install(path, WANTED)
    assert agent.installation(path) == WANTED
    installed = below(place.home)
    assert not agent.install(path, WANTED)
    assert below(place.home) == installed
    assert agent.remove(path)
    assert agent.installation(path) is None
    assert below(place.home) == files


def test_other_options_replace_the_installed_hook(agent, place):
    path = agent.user_settings(place)
    agent.install(path, WANTED)
    other = Installation("tokcap")
    assert agent.install(path, other)
    assert agent.installation(path) == other
    assert agent.remove(path)
    assert below(place.home) == {}


def test_the_printed_settings_are_what_install_writes_to_an_empty_file(agent, place):
    path = agent.user_settings(place)
    agent.install(path, WANTED)
    assert Path(path).read_text() == agent.printed(WANTED)


def test_settings_that_cannot_be_parsed_are_refused_and_not_changed(agent, place):
    path = agent.user_settings(place)
    write(path, "{")
    files = below(place.home)
    for use in (agent.installation, agent.remove, lambda path: agent.install(path, WANTED)):
        with pytest.raises(HookRefused) as refused:
            use(path)
        assert str(refused.value).startswith(f"{path}: ")
        assert below(place.home) == files


def test_an_event_is_answered_with_the_command_under_tokcap(agent, place):
    write(agent.user_settings(place), ALLOWED[agent.name])
    launch = Launch("tokcap", ("--token-limit", "7"), path=os.environ["PATH"])
    answer = json.dumps(agent.answer(EVENTS[agent.name], launch, place))
    assert f"tokcap --token-limit 7 -c '{COMMAND}'" in answer


def test_what_is_no_event_gets_the_agents_empty_answer(agent, place, inside, tmp_path):
    for data in (b"", b"[]", b"{}", b"\xff"):
        ran = inside("hook", "run", agent.name, stdin=data, env={agent.project_variable: str(tmp_path)})
        assert (ran.status, ran.out, ran.err) == (0, agent.no_answer, b"")


def test_an_agent_is_either_supported_or_unsupported():
    assert not set(AGENTS) & set(UNSUPPORTED)
    for name, reason in UNSUPPORTED.items():
        assert name not in AGENTS
        assert "\n" not in reason


@pytest.mark.parametrize("name", AGENTS)
def test_answering_an_agent_loads_no_other_agent(name):
    code = (
        "import sys; from tokcap.__main__ import call; from tokcap.environment import Environment;"
        f"call(['hook', 'run', {name!r}], Environment.of_this_process());"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=b"{}", capture_output=True, check=True, timeout=60
    )
    loaded = set(done.stdout.decode().split())
    modules = {agent: f"tokcap.hooks.{agent.replace('-', '_')}" for agent in AGENTS}
    assert loaded.intersection(modules.values()) == {modules[name]}


class TestAnAddedAgent:
    """Agents in the table work on the command line without a change anywhere else."""

    @pytest.fixture(autouse=True)
    def here(self, added, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["tokcap"])

    @pytest.mark.parametrize("name", ["toy", "profile"])
    def test_it_is_listed_installed_and_removed(self, inside, name):
        agent = AGENTS[name]
        assert f"{name}: not installed; {agent.effect}\n" in inside("hook", "list").out.decode()
        installed = inside("hook", "install", name, "-n", "900")
        assert installed.status == 0
        path = str(Path.home() / f".{'toy/settings.json' if name == 'toy' else 'profile-agent/rc'}")
        assert f"hook: installed in {path}; {agent.effect}" in installed.err.decode()
        assert f"{name}: installed in {path}; {agent.effect}\n" in inside("hook", "list").out.decode()
        assert agent.installation(path) == Installation("tokcap", ("--token-limit", "900"))
        assert inside("hook", "remove", name).status == 0
        assert inside("hook", "remove", name).status == 1

    def test_its_settings_are_printed(self, inside):
        shown = inside("hook", "print", "toy", "--session", "s").json
        assert shown["hooks"]["OnCommand"][0]["matcher"] == "shell"

    def test_its_events_are_answered(self, inside, tmp_path):
        ran = inside(
            "hook",
            "run",
            "toy",
            "--token-limit",
            "7",
            stdin=json.dumps(EVENTS["toy"]).encode(),
            env={"TOY_PROJECT": str(tmp_path)},
        )
        assert json.loads(ran.out) == {"run": f"tokcap --token-limit 7 -c '{COMMAND}'"}

    def test_the_doctor_checks_it(self):
        env = Environment(os.environ)
        manage.install("toy", manage.place_here(env), (), project=False)
        found = {finding.name: finding.message for finding in agents.check(env)}
        assert found["toy"].startswith("installed in ") or "does not exist" in found["toy"]
