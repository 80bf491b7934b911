"""The completion scripts in the hands of real shells: what tokcap answers, and what they make of it."""

from __future__ import annotations

import pytest

from tests.support.interactive import (
    BACK,
    BASH_COMPLETION,
    DIRECTORY,
    SCRIPTS,
    TAB,
    as_its_user_starts_it,
    bash,
    calls,
    furnished,
    offered,
    opened,
    world,
)
from tests.support.program import run_inside
from tests.support.tiers import as_nightly
from tokcap.cli.catalog import all_commands
from tokcap.cli.commands.completion import SHELLS
from tokcap.core.request import SUBCOMMANDS
from tokcap.hooks import AGENTS
from tokcap.tokens import tokenizer_names

COMMANDS = all_commands()
BUDGET = {command.path[1] for command in COMMANDS if command.path[:1] == ("budget",)}
SESSIONS = {"proj:one", "proj:two", "me@home+1", "review"}
MODELS = """
[models."my model"]
[models.'it"s $HOME']
[models."don't"]
"""
# Shows its words as the function in the shells does, but answers the completions.
OWN = r"""#!/bin/sh
case $1 in
    completion) exec real "$@" ;;
esac
printf '<<'; printf '%s\037' "$@"; printf '>>'
"""


@pytest.fixture(params=[*SHELLS], scope="module")
def shell(request):
    return request.param


@pytest.fixture(scope="module")
def terminal(shell, tmp_path_factory):
    """One shell answers all questions: it starts slowly, and no question changes it."""
    with opened(shell, with_names(furnished(shell, tmp_path_factory.mktemp(shell)))) as terminal:
        yield terminal


@pytest.fixture
def empty(shell, tmp_path):
    """A home in which nothing is stored."""
    return furnished(shell, tmp_path)


def call_of(home, *arguments):
    return run_inside(arguments, b"", world(home))


def call(home, *arguments):
    assert call_of(home, *arguments).status == 0


def with_names(home):
    """Store outputs, start sessions, and configure models."""
    for text in ("two: three", "four", "one: two"):
        call(home, "--spill", "always", "-n", "50", "--", "echo", text)
    for name in SESSIONS:
        call(home, "budget", "start", name, "--total", "1000")
    (home / ".config" / "tokcap").mkdir(parents=True)
    (home / ".config" / "tokcap" / "config.toml").write_text(MODELS)
    return home


def handles_in(home):
    """Return all handles, and the last one."""
    handles = {path.name for path in (home / "data" / "spill").glob("??/*")}
    assert len(handles) == 3
    return handles, (home / "data" / "spill" / "last").read_text().splitlines()[-1].split()[0]


def answers(inside, *words):
    """Return what kind of word tokcap expects, and the candidates."""
    ran = inside("completion", "words", "--", *words)
    assert (ran.status, ran.err) == (0, b"")
    kind, *lines = ran.out.decode().splitlines()
    return kind, {line.split("\t")[0] for line in lines}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_option_and_value_of_every_command_is_offered(command, inside):
    _, found = answers(inside, *command.path, "-")
    assert found == {
        word for option in command.options for word in (*option.spellings, option.negation) if word
    }
    for option in command.options:
        spelling = option.spellings[-1]
        if option.choices:
            attached = f"{spelling}=" if spelling.startswith("--") else spelling
            assert answers(inside, *command.path, spelling, "")[1] == set(option.choices)
            words = {f"{attached}{choice}" for choice in option.choices}
            assert answers(inside, *command.path, f"{attached}x")[1] == words
        elif option.value_name == "FILE":
            assert answers(inside, *command.path, spelling, "")[0] == "files"


def test_every_name_is_offered_where_it_can_be(inside):
    assert answers(inside, "") == ("command 1", set(SUBCOMMANDS))
    assert answers(inside, "--", "") == ("command 2", set())
    assert answers(inside, "-n", "5", "") == ("command 3", set())
    assert answers(inside, "budget", "") == ("words", BUDGET)
    assert answers(inside, "hook", "install", "")[1] == set(AGENTS)
    assert answers(inside, "--tokenizer", "")[1] == set(tokenizer_names())


def test_install_puts_the_script_where_the_shell_looks_and_uninstall_removes_it(inside, tmp_path):
    home = {"HOME": str(tmp_path), "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": ""}
    for shell, place in {
        "bash": ".local/share/bash-completion/completions/tokcap",
        "zsh": ".local/share/zsh/site-functions/_tokcap",
        "fish": ".config/fish/completions/tokcap.fish",
    }.items():
        path = tmp_path / place
        for _ in range(2):
            ran = inside("completion", "install", env={**home, "SHELL": f"/bin/{shell}"})
            assert (ran.status, ran.out) == (0, b"")
            assert str(path).encode() in ran.err
        assert path.read_bytes() == (DIRECTORY / SCRIPTS[shell]).read_bytes()
        assert path.stat().st_mode & 0o777 == 0o644
        assert inside("completion", "uninstall", shell, env=home).status == 0
        assert not path.exists()
        assert inside("completion", "uninstall", shell, env=home).status == 1
        path.write_text("mine")
        assert inside("completion", "install", shell, env=home).status == 1
        assert inside("completion", "uninstall", shell, env=home).status == 1
        assert path.read_text() == "mine"
    assert inside("completion", "install", env={**home, "SHELL": "/bin/nothing"}).status == 2


@pytest.mark.parametrize("name", ["bash", as_nightly("zsh"), as_nightly("fish")])
def test_a_shell_finds_the_script_that_was_installed(name, tmp_path):
    home = furnished(name, tmp_path)
    call(home, "completion", "install", name)
    if name == "bash":
        if not BASH_COMPLETION:
            pytest.skip("the bash-completion library is not installed")
        (home / ".bashrc").write_text(f"source '{BASH_COMPLETION[0]}'\n")
    if name == "zsh":
        line = f"fpath=({home}/.local/share/zsh/site-functions $fpath)"
        (home / ".zshrc").write_text(f"{line}\nautoload -Uz compinit\ncompinit -u -D\n")
    with as_its_user_starts_it(name, home) as terminal:
        assert terminal.words_after("tokcap --keep ta", TAB) == ["--keep", "tail"]


def test_the_words_and_values_of_subcommands_are_completed(terminal):
    expected = {
        "tokcap budget st": {"start", "status", "statusline"},
        "tokcap budget start --to": {"--total"},
        "tokcap show @last --str": {"--stream"},
        "tokcap show --stream err @last --poi": {"--pointer"},
        "tokcap show @last --keep=t": {"tail"},
        "tokcap spill path --stream ": {"out", "err"},
        "tokcap hook install -n 500 ge": {"gemini"},
        "tokcap --output=j": {"json", "jsonl"},
        "tokcap -o js": {"json", "jsonl"},
        "tokcap -n ": set(),
        "tokcap spill nothing ": set(),
        "tokcap -- --keep": set(),
        "tokcap completi": {"completion"},
    }
    for line, answer in zip(expected, offered(terminal, *expected), strict=True):
        assert answer == expected[line], line


def test_behind_the_options_the_completion_of_the_command_takes_over(shell, terminal):
    if shell == "bash" and not BASH_COMPLETION:
        pytest.skip("the bash-completion library is not installed")
    lines = [
        "tokcap fruitbowl ",
        "tokcap -n 5 fruitbowl ",
        "tokcap -n5 --keep tail --output=json fruitbowl ",
        "tokcap -- fruitbowl ",
        "tokcap -n 5 --token-count -- fruitbowl ",
        "tokcap --sentinel -cut- fruitbowl ",
        "tokcap --sentinel a=b fruitbowl ",
        "tokcap --sentinel= fruitbowl ",
        "tokcap fruitbowl --keep ",
    ]
    *answers, options, begun = offered(terminal, *lines, "tokcap -n 5 fruitbowl --", "tokcap -- fruitbowl ba")
    for line, answer in zip(lines, answers, strict=True):
        assert answer - {"--peel"} == {"apple", "banana"}, line
    assert options == {"--peel"}
    assert begun == {"banana"}


def test_a_string_for_the_shell_is_left_alone(terminal):
    lines = (
        "tokcap -c fruitb",
        "tokcap -n 5 -c fruitbowl fruitb",
        "tokcap -ec fruitb",
        "tokcap -n 5 -ec fruitb",
    )
    assert offered(terminal, *lines) == [set()] * len(lines)


def test_the_name_of_the_command_is_completed(terminal):
    lines = ("tokcap fruitb", "tokcap -n 5 fruitb", "tokcap -- fruitb")
    assert offered(terminal, *lines) == [{"fruitbowl"}] * 3


def test_tab_completes_the_word_at_the_cursor(terminal):
    assert terminal.words_after("tokcap --tokenizer o2", TAB) == ["--tokenizer", "o200k_base"]
    assert terminal.words_after("tokcap --tokenizer=o2", TAB) == ["--tokenizer=o200k_base"]
    assert terminal.words_after("tokcap --keep ta echo", 5 * BACK + TAB) == ["--keep", "tail", "echo"]
    assert terminal.words_after("tokcap budget sta", TAB + "t" + TAB) == ["budget", "status"]
    assert terminal.words_after("tokcap --to", TAB + "-c" + TAB) == ["--token-count"]
    assert terminal.words_after("tokcap -oj", TAB + "l" + TAB) == ["-ojsonl"]


def test_bash_without_its_library_completes_commands_and_files(tmp_path):
    home = furnished("bash", tmp_path)
    (home / "notes of today").touch()
    with bash(home, library=False) as terminal:
        assert terminal.words_after("tokcap -n 5 fruitb", TAB) == ["-n", "5", "fruitbowl"]
        assert terminal.words_after("tokcap -n 5 cat no", TAB) == ["-n", "5", "cat", "notes of today"]
        assert terminal.words_after("tokcap --keep ta", TAB) == ["--keep", "tail"]
        assert terminal.words_after("tokcap --keep=ta", TAB) == ["--keep=tail"]
        assert terminal.words_after("tokcap budget stat", TAB) == ["budget", "status"]


def test_handles_are_completed_from_the_store(terminal):
    handles, some = handles_in(terminal.home)
    behind, begun, path, removed, again, last = offered(
        terminal,
        "tokcap show ",
        f"tokcap show {some[:6]}",
        "tokcap spill path --stream err ",
        f"tokcap spill rm {some} ",
        f"tokcap show --stream out {some[:6]}",
        "tokcap show @l",
    )
    assert behind == path == {*handles, "@last"}
    assert begun == again == {some}
    assert removed >= handles - {some}
    assert last == {"@last"}


def test_sessions_are_completed_from_the_ledger(terminal):
    lines = (
        "tokcap --session ",
        "tokcap --session=",
        "tokcap budget status ",
        "tokcap budget end --session ",
        "tokcap hook install gemini --session ",
        "tokcap -n 5 --session ",
    )
    *answers, begun, no_more = offered(terminal, *lines, "tokcap --session rev", "tokcap budget end review ")
    for line, answer in zip(lines, answers, strict=True):
        assert answer == SESSIONS, line
    assert begun == {"review"}
    assert no_more.isdisjoint(SESSIONS)


def test_tab_inserts_a_name_whatever_it_holds(terminal):
    assert_inserts_names(terminal)


def assert_inserts_names(terminal):
    _, handle = handles_in(terminal.home)
    for typed, words in {
        f"show {handle[:5]}": ["show", handle],
        "show @l": ["show", "@last"],
        "spill path @": ["spill", "path", "@last"],
        "--session proj:o": ["--session", "proj:one"],
        "--session=proj:t": ["--session=proj:two"],
        "--session=rev": ["--session=review"],
        "budget status me@": ["budget", "status", "me@home+1"],
        "budget status m": ["budget", "status", "me@home+1"],
        "--model my": ["--model", "my model"],
        "--model=my\\ m": ["--model=my model"],
        "--model 'my m": ["--model", "my model"],
        '--model "my': ["--model", "my model"],
        "--model it": ["--model", 'it"s $HOME'],
        '--model "it': ["--model", 'it"s $HOME'],
        "--model do": ["--model", "don't"],
        "show @last --model gpt-4o-": ["show", "@last", "--model", "gpt-4o-"],
    }.items():
        assert terminal.words_after(f"tokcap {typed}", TAB) == words, typed


def test_the_program_that_is_asked_is_the_one_that_was_typed(shell, empty):
    call(empty, "budget", "start", "review")
    # As in a virtual environment that is not activated.
    (empty / "own").mkdir()
    (empty / "tokcap").rename(empty / "real")
    (empty / "own" / "tokcap").write_text(OWN)
    (empty / "own" / "tokcap").chmod(0o755)
    with opened(shell, empty) as terminal:
        assert offered(terminal, "own/tokcap --session r") == [{"review"}]


def test_what_is_broken_makes_no_noise(shell, empty):
    data = empty / "data"

    def damage_the_ledger():
        data.unlink()
        data.mkdir()
        (data / "ledger.db").write_text("nothing of a database")

    with opened(shell, empty) as terminal:
        for break_something in (
            lambda: None,
            data.touch,
            damage_the_ledger,
            lambda: (empty / "tokcap").write_text("#!/bin/sh\necho tokcap: no >&2; exit 125\n"),
            lambda: (empty / "tokcap").write_text("#!/no/such/interpreter\n"),
        ):
            break_something()
            for typed in ("show ab", "--session ", "spill rm "):
                assert terminal.words_after(f"tokcap {typed}", TAB) == typed.split()
                for word in ("rror", "tokcap:", "not found", "interpreter", "No such", "nknown"):
                    assert word not in terminal.shown


def test_pressing_tab_creates_nothing(shell, empty):
    with opened(shell, empty) as terminal:
        offered(terminal, "tokcap show ", "tokcap --session ")
    assert calls(empty)
    assert not (empty / "data").exists()
