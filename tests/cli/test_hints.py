"""Mistakes of newcomers and of models get one line that says what happened and what to do; nothing runs."""

import os
import shlex

import pytest

from tests.support.reference import recount
from tests.support.tiers import some_everyday
from tokcap.cli.options import OPTIONS
from tokcap.cli.synonyms import GUESSES
from tokcap.core.request import SUBCOMMANDS


def refusal(ran, status):
    """The only line of a refused call."""
    assert (ran.status, ran.out) == (status, b"")
    assert ran.err.count(b"\n") == 1
    return ran.err.decode().removeprefix("tokcap: ").rstrip("\n")


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("--max-tokens", "--token-limit"),
        ("--tokens", "--token-limit"),
        ("--limit", "--token-limit"),
        ("--max-output-tokens", "--token-limit"),
        ("--max_tokens", "--token-limit"),
        ("--max-tokn", "--token-limit"),
        ("--budget", "--token-limit"),
        ("--Token_Limit", "--token-limit"),
        ("-t", "--token-limit or --timeout"),
        ("--tail", "--keep tail"),
        ("--head", "--keep head"),
        ("--json", "--output json"),
        ("--format", "--output"),
        ("--count", "--token-count"),
        ("--offset", "--token-offset"),
        ("--encoding", "--tokenizer"),
        ("--no-color", "--clean"),
        ("--command", "-c"),
        ("--tokn-limit", "--token-limit"),
    ],
)
def test_an_option_of_another_tool_is_translated(inside, tmp_path, option, meant):
    made = tmp_path / "made"
    for words in ([option, "500"], [f"{option}=500"]):
        line = refusal(inside(*words, "touch", str(made)), 125)
        if option != "-t":
            assert line == f"unknown option {option}; did you mean {meant}?"
        assert f"did you mean {meant}?" in line
    assert not made.exists()


@pytest.mark.parametrize(
    ("call", "line"),
    [
        ("budget start x --limit 5", "budget start: unknown option --limit; did you mean --total?"),
        ("budget start x --max-tokens 5", "budget start: unknown option --max-tokens; did you mean --total?"),
        ("mcp --limit 5", "mcp: unknown option --limit; did you mean --token-limit or --total?"),
        ("show @last --search x", "show: unknown option --search; did you mean --grep?"),
        ("show @last --max-tokens 5", "show: unknown option --max-tokens; did you mean --token-limit?"),
        ("show @last --timeout 5", "show: unknown option --timeout; it works only when a command is run"),
        ("show --grep", "show: --grep needs a value: --grep REGEX"),
        ("budget new x", "budget: unknown command new; did you mean tokcap budget start?"),
        ("budget stop x", "budget: unknown command stop; did you mean tokcap budget end?"),
        ("budget ls", "budget: unknown command ls; did you mean tokcap budget list?"),
        ("hook uninstall x", "hook: unknown command uninstall; did you mean tokcap hook remove?"),
        ("spill remove x", "spill: unknown command remove; did you mean tokcap spill rm?"),
        ("spill show x", "spill: unknown command show; did you mean tokcap show?"),
        ("spill list --json", "spill list: unknown option --json; did you mean --output json?"),
    ],
)
def test_subcommands_translate_too(inside, call, line):
    assert refusal(inside(*call.split()), 2) == line


@pytest.mark.parametrize(
    ("words", "before", "hint"),
    [
        (["--keep", "last", "ls"], "--keep: 'last' is not one of head, tail,", "did you mean tail?"),
        (["-o", "JSON", "ls"], "--output: 'JSON' is not one of text, json,", "did you mean json?"),
        (["--session"], "--session needs a value: ", "the name of a session"),
        (["--fields"], "--fields needs a value: ", "--fields NAMES"),
        (
            ["--token-limit 5", "ls"],
            "unknown option --token-limit 5; ",
            "did you mean --token-limit, as a word",
        ),
        (["--no-limit", "ls"], "unknown option --no-limit; ", "see tokcap --help"),
        (["-c", "ls", "-n", "5"], "-n comes after the string of -c; ", "write options of tokcap before -c"),
        (
            ["-c", "ls", "--output=json"],
            "--output comes after the string",
            "write options of tokcap before -c",
        ),
        (["-n500ls"], "--token-limit: '500ls'", "is not a whole number of at least 1"),
        (["-n=5", "ls"], "--token-limit: '=5'", "is not a whole number of at least 1"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_value_or_a_word_in_the_wrong_place_is_explained(inside, words, before, hint):
    line = refusal(inside(*words), 125)
    assert line.startswith(before)
    assert hint in line


def test_an_agent_that_is_nearly_known_is_named(inside):
    assert (
        refusal(inside("hook", "install", "claude"), 1) == "unknown agent 'claude'; did you mean claude-code?"
    )


def test_an_option_of_show_is_named_as_such(inside):
    line = refusal(inside("--grep", "x", "ls"), 125)
    assert line == "unknown option --grep; it is an option of tokcap show"


def test_every_guess_leads_to_an_option_that_exists():
    flags = {option.flag for option in OPTIONS} | {"--total", "--help", "--version", "-c"}
    for meaning, guesses in GUESSES.items():
        flag, _, value = meaning.partition(" ")
        assert flag in flags
        if value:
            assert value in next(option for option in OPTIONS if option.flag == flag).kind.words
        # A name that exists needs no translation, except for commands that do not have it.
        assert {f"--{guess}" for guess in guesses.split()} & flags <= {"--token-limit", "--help"}


def test_a_key_of_another_tool_is_translated_in_the_config_file(inside, tmp_path):
    config = tmp_path / "config.toml"
    for text, meant in (("max_tokens = 5", "token_limit"), ("json = true", 'output = "json"')):
        config.write_text(text)
        line = refusal(inside("ls", env={"TOKCAP_CONFIG": str(config)}), 125)
        assert line.endswith(f"did you mean {meant}?")


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """A current directory with a file, a script and a directory."""
    place = tmp_path / "here"
    (place / "docs").mkdir(parents=True)
    (place / "notes.md").write_text("some notes\n")
    (place / "more notes.md").write_text("other notes\n")
    (place / "tool.sh").write_text("#!/bin/sh\necho script ran\n")
    (place / "tool.sh").chmod(0o755)
    (place / "docs" / "guide.md").write_text("guide\n")
    monkeypatch.chdir(place)
    return place


NOT_STARTED = [
    # The words, the status, and what the line says after the reason.
    (["500", "ls"], 127, "to cap at that many tokens: tokcap -n 500 ls"),
    (["4k", "ls", "-l"], 127, "to cap at that many tokens: tokcap -n 4k ls -l"),
    (["500"], 127, "to cap at that many tokens: tokcap -n 500 COMMAND"),
    (["--token-count", "notes.md"], 127, "to count the tokens of a file: tokcap count notes.md"),
    (["notes.md"], 127, "it is a file, to cap its content: tokcap < notes.md"),
    (["-n", "50", "more notes.md"], 127, "it is a file, to cap its content: tokcap -n 50 < 'more notes.md'"),
    (["./notes.md"], 126, "it is a file, to cap its content: tokcap < ./notes.md"),
    (["notes.md", "b.md"], 127, "to cap the content of files: tokcap -- cat notes.md b.md"),
    (["tool.sh", "x"], 127, "to run a file of this directory: tokcap ./tool.sh x"),
    (["docs"], 127, "to list a directory: tokcap -- ls docs"),
    (["-n", "50", "./docs"], 126, "to list a directory: tokcap -n 50 -- ls ./docs"),
    (["ls -la | head"], 127, "to run a shell command line: tokcap -c 'ls -la | head'"),
    (["-n", "9", "echo hi"], 127, "to run a shell command line: tokcap -n 9 -c 'echo hi'"),
    (["cd /\nls"], 127, "to run a shell command line: tokcap -c STRING"),
    (["X=1", "ls"], 127, "to set a variable: tokcap -- env 'X=1' ls"),
    (["pushd", "/tmp"], 127, "it belongs to the shell: tokcap -c 'pushd /tmp'"),
    (["help"], 127, "did you mean tokcap --help?"),
    (["help", "show"], 127, "did you mean tokcap show --help?"),
    (["run", "ls"], 127, "name the command itself: tokcap -- ls"),
    (["exec", "--", "ls", "-l"], 127, "name the command itself: tokcap -- ls -l"),
    (["sessions"], 127, "did you mean tokcap budget list?"),
    (["@last"], 127, "to see a stored output: tokcap show @last"),
    (["lake917365018"], 127, "to see a stored output: tokcap show lake917365018"),
    (["lake917365018@464"], 127, "to see a stored output: tokcap show lake917365018@464"),
    (["--", "-n", "5", "ls"], 127, "options of tokcap come before --: tokcap -n 5 ls"),
    (["--", "--", "ls"], 127, "one -- is enough"),
    (["-"], 127, "to cap standard input, leave - out"),
    (["\u2013n", "5", "ls"], 127, "\u2013 is not a hyphen, did you mean -n?"),
    (["\u2014token-limit", "5", "ls"], 127, "\u2014 is not a hyphen, did you mean --token-limit?"),
    (["\u201cls\u201d"], 127, "curly quotes do not quote in a shell; write ' or \""),
]


@pytest.mark.parametrize(
    ("words", "status", "hint"), some_everyday(NOT_STARTED, 12), ids=lambda value: str(value)[:40]
)
def test_a_command_that_cannot_be_started_gets_a_hint(inside, directory, words, status, hint):
    line = refusal(inside(*words, env={"PATH": "/usr/bin:/bin"}), status)
    assert line.endswith(f"; {hint}")
    asked = inside("-o", "json", *words, env={"PATH": "/usr/bin:/bin"})
    assert (asked.status, asked.json["ok"]) == (status, False)
    assert asked.json["error"]["code"] == {126: "COMMAND_NOT_EXECUTABLE", 127: "COMMAND_NOT_FOUND"}[status]


RUNNABLE = [
    words
    for words, _, hint in NOT_STARTED
    if ": tokcap " in hint
    and "COMMAND" not in hint
    and "STRING" not in hint
    and "show" not in hint
    and "count" not in hint
]


@pytest.mark.parametrize("words", some_everyday(RUNNABLE, 6), ids=str)
def test_the_command_in_a_hint_can_be_copied(inside, directory, words):
    if "b.md" in words:
        (directory / "b.md").write_text("b\n")
    environment = {"PATH": "/usr/bin:/bin"}
    call = inside(*words, env=environment).err.decode().partition(": tokcap ")[2]
    argv = shlex.split(call)
    stdin = b""
    if "<" in argv:
        place = argv.index("<")
        stdin = (directory / argv[place + 1]).read_bytes()
        argv = argv[:place]
    ran = inside(*argv, stdin=stdin, env={**environment, "TOKCAP_SHELL": "/bin/bash"})
    assert ran.status == 0
    assert ran.out


def test_a_hint_is_part_of_what_a_session_pays_for(inside, with_store):
    inside("budget", "start", "s", "--total", "5000")
    line = inside("--session", "s", "-n", "90", "--", "/usr")
    assert line.err.endswith(b"to list a directory: tokcap --session s -- ls /usr\n")
    assert inside("budget", "status", "s", "-o", "json").json["data"]["used"] == recount(line.err)


def test_a_long_command_is_not_repeated(inside):
    line = refusal(inside("500", "echo", "x" * 3000), 127)
    assert line.endswith("tokcap -n 500 ...")


def test_a_command_that_exists_is_run_whatever_its_name(inside, tmp_path):
    for name in ("500", "help", "run", "lake917365018", "notes.md"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\necho ran\n")
        program.chmod(0o755)
        assert inside(name, env={"PATH": f"{tmp_path}{os.pathsep}/usr/bin"}).out == b"ran\n"


def test_no_subcommand_is_a_name_of_other_tools():
    from tokcap.steps.command_hint import OTHER_NAMES

    assert not set(OTHER_NAMES) & set(SUBCOMMANDS)
    assert {meant.split()[0] for meant in OTHER_NAMES.values()} <= {*SUBCOMMANDS}
