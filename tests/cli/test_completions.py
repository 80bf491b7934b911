"""The completion scripts: current, complete, and right in the hands of real shells."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest

from tests.support import interactive
from tests.support.interactive import (
    BACK,
    BASH_COMPLETION,
    DIRECTORY,
    PATIENCE_SECONDS,
    SCRIPTS,
    TAB,
    bash,
    calls,
    furnished,
    new_words,
    offered,
    opened,
    world,
    zsh,
)
from tests.support.program import IMPORT_PATH
from tests.support.tiers import nightly
from tokcap.cli.catalog import all_commands, all_groups
from tokcap.cli.completions import SHELLS, script_for
from tokcap.cli.completions.vocabulary import Vocabulary, offer_for, spellings_of
from tokcap.cli.description import HELP, Argument, Command, Flag
from tokcap.cli.kinds import Choice, LineOfText
from tokcap.core.request import SUBCOMMANDS as NAMES
from tokcap.hooks import AGENTS
from tokcap.tokens import open_tokenizer, tokenizer_names

COMMANDS = all_commands()
VOCABULARY = Vocabulary(COMMANDS, all_groups())
WRAPPER, *SUBCOMMANDS = COMMANDS
WRAPPER_FLAGS = {spelling.word for spelling in spellings_of(WRAPPER)}
LONG_FLAGS = {word for word in WRAPPER_FLAGS if word.startswith("--")}


@pytest.fixture(params=SHELLS, scope="module")
def shell(request):
    return request.param


@pytest.fixture(scope="module")
def terminal(shell, tmp_path_factory):
    """One shell answers all questions: it starts slowly, and no question changes it."""
    with opened(shell, furnished(shell, tmp_path_factory.mktemp(shell))) as terminal:
        yield terminal


def test_the_scripts_are_current(tmp_path):
    shutil.copy(DIRECTORY / "generate.py", tmp_path)
    subprocess.run(
        [sys.executable, tmp_path / "generate.py"],
        env={**world(tmp_path), "PYTHONPATH": IMPORT_PATH},
        timeout=PATIENCE_SECONDS,
        check=True,
    )
    for name in SCRIPTS.values():
        assert (tmp_path / name).read_text() == (DIRECTORY / name).read_text()


def test_the_subcommand_prints_the_script(shell, inside):
    assert inside("completion", shell).out == (DIRECTORY / SCRIPTS[shell]).read_bytes()


def test_every_command_and_option_is_in_each_completion_script(shell):
    script = (DIRECTORY / SCRIPTS[shell]).read_text()
    if shell == "fish":
        # It writes `-s n -l token-limit`.
        script = script.replace(" -l ", " --").replace(" -s ", " -")
    words = set(re.findall(r"[-\w]+", script))
    assert words >= set(NAMES)
    for command in COMMANDS:
        assert words >= set(command.path)
        assert words >= {spelling.word for spelling in spellings_of(command)}
        for item in (*command.flags, *command.arguments):
            assert words >= set(offer_for(item).words)


def test_every_tokenizer_offered_can_be_used_offline():
    for name in tokenizer_names():
        assert open_tokenizer(name).count("to be counted") > 0


def test_an_option_takes_a_value_in_every_command_or_in_none():
    # The script for fish counts arguments by one list of the options that take a value.
    switches = {s.word for command in COMMANDS for s in spellings_of(command) if not s.valued}
    assert switches.isdisjoint(VOCABULARY.valued())


def test_the_names_of_options_are_completed(terminal):
    to, all_long, all_flags, after_value = offered(
        terminal, "tokcap --to", "tokcap --", "tokcap -", "tokcap -n 5 --al"
    )
    assert to == {"--token-limit", "--token-offset", "--token-count", "--tokenizer"}
    assert all_long == LONG_FLAGS
    assert all_flags == WRAPPER_FLAGS
    assert after_value == {"--align"}


def test_the_options_of_every_subcommand_are_completed(terminal):
    lines = [f"{command.name} --" for command in SUBCOMMANDS]
    for command, answer in zip(SUBCOMMANDS, offered(terminal, *lines), strict=True):
        long = {spelling.word for spelling in spellings_of(command) if spelling.word.startswith("--")}
        assert answer == long, command.name


def test_the_words_and_values_of_subcommands_are_completed(terminal):
    expected = {
        "tokcap budget st": {"start", "status"},
        "tokcap budget ": set(VOCABULARY.below("budget")),
        "tokcap budget start --to": {"--total"},
        "tokcap show @last --str": {"--stream"},
        "tokcap show --stream err @last --poi": {"--pointer"},
        "tokcap show @last --keep=t": {"tail"},
        "tokcap spill path --stream ": {"out", "err"},
        "tokcap budget status --output j": {"json", "jsonl"},
        "tokcap budget record --output ": set(),
        "tokcap hook install ": set(AGENTS),
        "tokcap hook install -n 500 g": {"gemini"},
        "tokcap completion ": {*SHELLS, "install", "uninstall"},
        "tokcap completion install ": {*SHELLS, "man"},
        "tokcap budget start review --shell=": {"sh", "fish"},
        "tokcap spill nothing ": set(),
    }
    for line, answer in zip(expected, offered(terminal, *expected), strict=True):
        assert answer == expected[line], line


def test_the_values_of_options_are_completed(terminal):
    choices = [flag for flag in WRAPPER.flags if flag.choices]
    apart = [f"tokcap {flag.spellings[-1]} " for flag in choices]
    attached = [f"tokcap {flag.spellings[-1]}=" for flag in choices]
    begun = {
        "tokcap --output=j": {"json", "jsonl"},
        "tokcap -o js": {"json", "jsonl"},
        "tokcap --tokenizer ": set(tokenizer_names()),
        "tokcap --tokenizer=cl1": {"cl100k_base"},
        "tokcap -n ": set(),
    }
    answers = offered(terminal, *apart, *attached, *begun)
    words = [set(flag.choices) for flag in choices]
    assert answers == [*words, *words, *begun.values()]


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


def test_git_is_completed_as_git_does(shell, terminal):
    if not shutil.which("git") or (shell == "bash" and not BASH_COMPLETION):
        pytest.skip("git, or its completion, is not installed")
    (found,) = offered(terminal, "tokcap -n 5 git che")
    assert found >= {"checkout", "cherry-pick"}
    assert all(word.startswith("che") for word in found)


def test_a_string_for_the_shell_is_left_alone(terminal):
    lines = (
        "tokcap -c fruitb",
        "tokcap -n 5 -c fruitbowl fruitb",
        "tokcap -ec fruitb",
        "tokcap -n 5 -ec fruitb",
    )
    assert offered(terminal, *lines) == [set()] * len(lines)


def test_two_dashes_end_the_options(terminal):
    directly, behind_option, subcommand = offered(
        terminal, "tokcap -- --", "tokcap -n 5 -- --", "tokcap -- budget st"
    )
    assert not LONG_FLAGS & (directly | behind_option)
    assert "status" not in subcommand


def test_the_name_of_the_command_is_completed(terminal):
    lines = ("tokcap fruitb", "tokcap -n 5 fruitb", "tokcap -- fruitb")
    assert offered(terminal, *lines) == [{"fruitbowl"}] * 3


def test_a_subcommand_is_completed_as_the_first_word_only(terminal):
    first, begun, shells, no_more, behind_option, behind_dashes = offered(
        terminal,
        "tokcap completi",
        "tokcap bud",
        "tokcap completion ",
        "tokcap completion bash ",
        "tokcap -n 5 completi",
        "tokcap -- completi",
    )
    assert "completion" in first
    assert "budget" in begun
    assert shells == {*SHELLS, "install", "uninstall"}
    # Where nothing can follow, zsh reminds of the options.
    assert all(word.startswith("-") for word in no_more)
    assert "completion" not in behind_option | behind_dashes


def test_tab_completes_the_word_at_the_cursor(terminal):
    assert terminal.words_after("tokcap --tokenizer o2", TAB) == ["--tokenizer", "o200k_base"]
    assert terminal.words_after("tokcap --tokenizer=o2", TAB) == ["--tokenizer=o200k_base"]
    assert terminal.words_after("tokcap --keep ta echo", 5 * BACK + TAB) == ["--keep", "tail", "echo"]
    assert terminal.words_after("tokcap budget sta", TAB + "t" + TAB) == ["budget", "status"]
    assert terminal.words_after("tokcap --to", TAB + "-c" + TAB) == ["--token-count"]
    assert terminal.words_after("tokcap -oj", TAB + "l" + TAB) == ["-ojsonl"]


def test_a_command_that_is_added_is_completed_by_itself(shell, tmp_path, monkeypatch):
    home = furnished(shell, tmp_path)
    plot = Flag(("--plot",), "draw: [it's] there", LineOfText("a file"), "FILE", names="files")
    kind = Flag(("-k", "--kind"), "which", Choice(("png", "svg")))
    pages = Argument("PAGE", "a file", names="files")
    added = Command(("draw",), "Draw it.", arguments=(pages,), flags=(plot, kind, HELP))
    (tmp_path / SCRIPTS[shell]).write_text(script_for(shell, Vocabulary((*COMMANDS, added), all_groups())))
    monkeypatch.setattr(interactive, "DIRECTORY", tmp_path)
    (home / "pict ure").touch()
    with opened(shell, home) as terminal:
        assert terminal.words_after("tokcap draw --plot pi", TAB) == ["draw", "--plot", "pict ure"]
        assert terminal.words_after("tokcap draw --plot=pi", TAB) == ["draw", "--plot=pict ure"]
        assert terminal.words_after("tokcap draw -k svg pi", TAB) == ["draw", "-k", "svg", "pict ure"]
        assert terminal.words_after("tokcap draw --kind=s", TAB) == ["draw", "--kind=svg"]


def test_words_that_are_known_start_no_process(terminal):
    calls(terminal.home)
    for line in (
        "tokcap --to",
        "tokcap --shape ",
        "tokcap --keep=",
        "tokcap bud",
        "tokcap budget st",
        "tokcap budget start --to",
        "tokcap hook install ",
        "tokcap -n 5 fruitbowl ap",
    ):
        terminal.words_after(line, TAB)
    assert not calls(terminal.home)
    terminal.words_after("tokcap --session ", TAB)
    assert set(calls(terminal.home)) == {"completion --list sessions"}


def test_bash_without_its_library_completes_commands_and_files(tmp_path):
    home = furnished("bash", tmp_path)
    (home / "notes of today").touch()
    with bash(home, library=False) as terminal:
        assert terminal.words_after("tokcap -n 5 fruitb", TAB) == ["-n", "5", "fruitbowl"]
        assert terminal.words_after("tokcap -n 5 cat no", TAB) == ["-n", "5", "cat", "notes of today"]
        assert terminal.words_after("tokcap --keep ta", TAB) == ["--keep", "tail"]
        assert terminal.words_after("tokcap --keep=ta", TAB) == ["--keep=tail"]
        assert terminal.words_after("tokcap budget stat", TAB) == ["budget", "status"]


@nightly
def test_the_zsh_script_can_be_sourced_too(tmp_path):
    with zsh(furnished("zsh", tmp_path), sourced=True) as terminal:
        assert terminal.words_after("tokcap --keep ta", TAB) == ["--keep", "tail"]
        assert terminal.words_after("tokcap budget stat", TAB) == ["budget", "status"]
        assert terminal.words_after("tokcap -n 5 fruitbowl ba", TAB) == ["-n", "5", "fruitbowl", "banana"]


@nightly
def test_zsh_takes_no_option_for_a_part_of_a_command(tmp_path):
    home = furnished("zsh", tmp_path)
    (home / "fruitbowl").rename(home / "fruit--bowl")
    with zsh(home) as terminal:
        terminal.words_after("zstyle ':completion:*' matcher-list 'l:|=* r:|=*'; tokcap", "")
        assert set(new_words(terminal, "tokcap --")) == LONG_FLAGS
