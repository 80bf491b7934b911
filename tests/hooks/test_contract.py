"""Every agent of the table keeps the same contract, and so does an agent that is added from outside."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.agent_settings import place_in, write
from tests.support.tiers import as_nightly
from tokcap.doctor import agents
from tokcap.environment import Environment
from tokcap.errors import HookRefused
from tokcap.hooks import AGENTS, manage
from tokcap.hooks.base import RESULTS, Agent, Installation, ShellAgent

# Files that people have before they install the hook, in the format of the agent's settings.
BEFORE = {
    ".json": ["", "{}", '{\n  // mine\n  "a": [1, 2],\n  "env": {"B": "1"},\n}\n', '{"a": {"b": 1}}'],
    ".toml": [
        "",
        'model = "x" # mine\n',
        'model = "x"',
        '[shell_environment_policy]\ninherit = "core"\n\n[other]\na = 1\n',
        '[shell_environment_policy.set]\nA = "1"\n\n[other]\na = 1\n',
        '# mine\r\n[shell_environment_policy.set] # too\r\nA = "1"\r\n',
        '[[hooks]]\nname = "mine"\ntype = "pre_tool"\ncommand = "true"',
    ],
    ".env": ["", "A=1\n", "# mine\nexport A='b c'", "A=1\r\n\r\n"],
    ".yaml": [
        "",
        "model: # mine\n  default: x\n",
        "model: x",
        "plugins:\n  # mine\n  enabled:\n  - other # too\n\nmodel: x\n",
        "plugins:\r\n    enabled: [one, 'two']  # mine\r\nmodel: x\r\n",
        "---\nplugins:\n  disabled:\n    - other\n",
    ],
    # Files of tokcap alone.
    ".sh": [],
}
NOT_VALID = {
    ".json": "{",
    ".toml": "[",
    ".env": None,
    ".sh": None,
    "": None,
    ".yaml": "plugins: {enabled: [other]}\n",
}
OWN_FILES = ("copilot", "cline", "qwen", "goose", "continue")
# Nothing is replaced in a list.
LISTS = ("hermes", "vibe")
# One for each way in.
FOR_REAL = ("claude-code", "codex", "copilot", "opencode")


class Toy(ShellAgent):
    """An agent from outside whose settings name its shell."""

    name = "toy"
    title = "Toy"
    way = "its shell"
    effect = "caps everything"
    tried = ""
    keys = ("terminal", "shell")

    def user_settings(self, place):
        return f"{place.home}/.toy/settings.json"


TOY = Toy()


@pytest.fixture
def added():
    """The table with one agent more."""
    AGENTS.add("toy", f"{__name__}:TOY")
    yield AGENTS
    AGENTS.remove("toy")


@pytest.fixture(params=[*AGENTS, "toy"])
def agent(request, added) -> Agent:
    return added[request.param]


@pytest.fixture
def place(tmp_path):
    return place_in(tmp_path)


WANTED = Installation("/opt/bin/tokcap", ("--token-limit", "900", "--session", "it's mine"))


def below(directory) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in Path(directory).rglob("*") if path.is_file()}


def kind_of(path: str) -> str:
    return ".env" if path.endswith("/.env") else Path(path).suffix


def test_an_agent_describes_itself_in_single_lines(agent):
    assert AGENTS[agent.name] is agent
    for text in (agent.name, agent.title, agent.effect, agent.way):
        assert text
        assert "\n" not in text


def test_settings_lie_below_the_home_and_the_project(agent, place):
    assert agent.user_settings(place).startswith(place.home)
    assert agent.project_settings(place).startswith(place.project) or not agent.project_settings(place)
    assert not agent.is_present(place)
    if agent.program:
        program = Path(place.project, agent.program)
        program.touch(mode=0o755)
        assert agent.is_present(place.replace(variables={"PATH": place.project}))
    os.makedirs(os.path.dirname(agent.user_settings(place)))
    assert agent.is_present(place)


def test_an_untouched_machine_gives_no_objection(agent, place):
    assert agent.objections(place) == []


@pytest.mark.parametrize("with_tools", [as_nightly(False), True])
def test_a_hook_is_installed_once_read_back_and_removed_without_a_trace(agent, tmp_path, with_tools):
    tools = ("--tools", ",".join(agent.tools)) if with_tools else ()
    wanted = WANTED.replace(options=(*WANTED.options, *tools))
    texts = [] if agent.name in OWN_FILES else BEFORE[kind_of(agent.user_settings(place_in(tmp_path)))]
    for number, text in enumerate([None, *texts]):
        directory = tmp_path / str(number)
        directory.mkdir()
        leaves_no_trace(agent, place_in(directory), text, wanted)


def leaves_no_trace(agent, place, text, wanted):
    """Install and remove the hook where the settings have this text; None if there are no settings."""
    path = agent.user_settings(place)
    if text is not None:
        write(path, "")
        Path(path).write_bytes(text.encode())
    files = below(place.home)
    assert agent.installation(path) is None
    assert not agent.remove(path)
    assert agent.install(path, wanted)
    assert agent.installation(path) == wanted
    installed = below(place.home)
    assert not agent.install(path, wanted)
    assert below(place.home) == installed
    assert agent.remove(path)
    assert agent.installation(path) is None
    assert below(place.home) == files


def test_what_somebody_adds_later_stays_when_the_hook_is_removed(agent, place):
    path = agent.user_settings(place)
    if agent.name in OWN_FILES:
        return
    later = {".json": '{"a": 1}', ".toml": "a = 1\n", ".env": "A=1\n", ".yaml": "a: 1\n"}[kind_of(path)]
    agent.install(path, WANTED)
    text = Path(path).read_text()
    Path(path).write_text(text.replace("{", '{"a": 1, ', 1) if kind_of(path) == ".json" else later + text)
    assert agent.remove(path)
    assert "".join(Path(path).read_text().split()) == "".join(later.split())


def test_other_options_replace_the_installed_hook(agent, place):
    path = agent.user_settings(place)
    agent.install(path, WANTED)
    other = Installation("tokcap")
    assert agent.install(path, other)
    assert agent.installation(path) == other
    assert agent.remove(path)
    assert below(place.home) == {}


def test_what_is_printed_is_what_install_writes(agent, place):
    path = agent.user_settings(place)
    printed = agent.printed(path, WANTED)
    agent.install(path, WANTED)
    for name, data in below(place.home).items():
        assert f"# {name}\n{data.decode()}" in printed


def test_settings_that_cannot_be_parsed_are_refused_and_not_changed(agent, place):
    path = agent.user_settings(place)
    text = NOT_VALID[kind_of(path)]
    if text is None or agent.name in OWN_FILES:
        return
    write(path, text)
    files = below(place.home)
    for use in (agent.installation, agent.remove, lambda path: agent.install(path, WANTED)):
        with pytest.raises(HookRefused) as refused:
            use(path)
        assert str(refused.value).startswith(f"{path}: ")
        assert below(place.home) == files


@pytest.mark.parametrize("name", [name for name in AGENTS if name not in (*OWN_FILES, *LISTS)])
def test_a_value_that_the_user_has_set_is_not_replaced(name, place):
    agent = AGENTS[name]
    path = agent.user_settings(place)
    agent.install(path, WANTED)
    mine = Path(path).read_text().replace(os.path.dirname(path) + "/tokcap/", "/usr/bin/")
    agent.remove(path)
    write(path, mine)
    files = below(place.home)
    with pytest.raises(HookRefused, match="already; remove it first"):
        agent.install(path, WANTED)
    assert below(place.home) == files


def test_what_is_no_event_gets_the_agents_empty_answer(agent, inside):
    for data in (b"", b"[]", b"{}", b"\xff"):
        ran = inside("hook", "run", agent.name, stdin=data)
        assert (ran.status, ran.out, ran.err) == (0, b"", b"")


def test_an_agent_is_either_supported_or_unsupported():
    assert not set(AGENTS) & set(manage.UNSUPPORTED)
    for name, reason in manage.UNSUPPORTED.items():
        assert name not in AGENTS
        assert "\n" not in reason


def proven(agent, path, wanted, place) -> str:
    """Return what `tokcap hook status` says about a hook that works."""
    from tokcap.cli.hook_options import cap_for, request_of

    env = Environment(place.variables)
    proof = manage.prove(
        agent, path, wanted, place, request_of(agent, wanted, env), cap_for(agent, wanted, env)
    )
    assert proof.works, proof.line
    return proof.line


class TestInstalledForReal:
    """What is installed runs on this machine, as the agent would run it."""

    @pytest.fixture(params=[name if name in FOR_REAL else as_nightly(name) for name in AGENTS])
    def installed(self, request, tmp_path):
        place = place_in(tmp_path, variables={**os.environ, "SHELL": "/bin/bash"})
        agent = AGENTS[request.param]
        path = agent.user_settings(place)
        program = os.path.join(os.path.dirname(sys.executable), "tokcap")
        wanted = Installation(program, ("--token-limit", "500"))
        agent.install(path, wanted)
        return agent, path, wanted, place

    def test_status_proves_that_a_long_output_is_capped(self, installed):
        agent, path, wanted, place = installed
        for hook, limit in ((wanted, 500), (wanted.replace(options=()), agent.frame.cut)):
            agent.install(path, hook)
            assert f"of {agent.frame.left_of(limit)} tokens" in proven(agent, path, hook, place)

    def test_a_short_command_is_what_it_was(self, installed):
        agent, path, _, place = installed
        if agent.way == RESULTS:
            return
        words, variables = agent.shell_words(path, 'echo "a  b" $0; cd /; pwd; echo no >&2; exit 5')
        done = subprocess.run(words, env={**place.variables, **variables}, capture_output=True, timeout=60)
        out, err = (b"no\n", b"") if agent.merges_streams else (b"", b"no\n")
        told = b"[exit status 5]\n" if agent.frame.tells_status else b""
        assert done.stdout.endswith(b"\n/\n" + out + told)
        assert (done.returncode, done.stderr) == (5, err)

    def test_without_tokcap_the_shell_still_works(self, installed):
        agent, path, wanted, place = installed
        if agent.way == RESULTS:
            return
        agent.install(path, wanted.replace(program="/nowhere/tokcap"))
        words, variables = agent.shell_words(path, "seq 1 3000; exit 5")
        done = subprocess.run(words, env={**place.variables, **variables}, capture_output=True, timeout=60)
        assert (done.returncode, len(done.stdout.splitlines())) == (5, 3000)


class TestAnAddedAgent:
    """Agents in the table work on the command line without a change anywhere else."""

    @pytest.fixture(autouse=True)
    def here(self, added, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["tokcap"])

    def test_it_is_listed_installed_and_removed(self, inside):
        assert f"toy: not found here; {TOY.effect}; way: " in inside("hook", "list").out.decode()
        installed = inside("hook", "install", "toy", "-n", "900")
        assert installed.status == 0
        path = str(Path.home() / ".toy/settings.json")
        assert f"hook: installed in {path}; {TOY.effect}" in installed.err.decode()
        assert f"toy: installed in {path}; {TOY.effect}" in inside("hook", "list").out.decode()
        assert TOY.installation(path) == Installation("tokcap", ("--token-limit", "900"))
        assert inside("hook", "remove", "toy").status == 0
        assert inside("hook", "remove", "toy").status == 1

    def test_its_settings_are_printed(self, inside):
        shown = inside("hook", "print", "toy", "--session", "s").out.decode()
        assert "export TOKCAP_SESSION='s'" in shown
        assert '"terminal": {' in shown

    def test_the_doctor_checks_it(self):
        env = Environment(os.environ)
        manage.install("toy", manage.place_here(env), (), project=False)
        found = {finding.name: finding.message for finding in agents.check(env)}
        assert found["toy"].startswith("hook installed in ") or "does not exist" in found["toy"]
