"""Mistakes of newcomers and of models get one line that says what happened and what to do; nothing runs."""

import os

import pytest


def refusal(ran, status):
    """The only line of a refused call."""
    assert (ran.status, ran.out) == (status, b"")
    assert ran.err.count(b"\n") == 1
    return ran.err.decode().removeprefix("tokcap: ").rstrip("\n")


@pytest.mark.parametrize(
    ("call", "status", "line"),
    [
        ("--tokn-limit 500 ls", 125, "unknown option --tokn-limit; did you mean --token-limit?"),
        ("--Token_Limit=500 ls", 125, "unknown option --Token_Limit; did you mean --token-limit?"),
        ("--wibble 500 ls", 125, "unknown option --wibble; see tokcap --help"),
        ("--grep x ls", 125, "unknown option --grep; it is an option of tokcap show"),
        ("show @last --gerp x", 2, "show: unknown option --gerp; did you mean --grep?"),
        ("show @last --timeout 5", 2, "show: unknown option --timeout; it works only when a command is run"),
        ("show", 2, "show: HANDLE is missing: try tokcap show @last, or see tokcap spill list"),
        ("show 3f2a --context 3", 2, "show: --context works only with --grep"),
        (
            "show 3f2a 91c0",
            2,
            "show: one HANDLE is expected, not 2: try tokcap show @last, or see tokcap spill list",
        ),
        ("show --grep", 2, "show: --grep needs a value: --grep REGEX"),
        ("budget check --nede 5", 2, "budget check: unknown option --nede; did you mean --need?"),
    ],
)
def test_a_spelling_that_is_nearly_known_is_named(inside, call, status, line):
    assert refusal(inside(*call.split()), status) == line


@pytest.mark.parametrize(
    ("words", "before", "hint"),
    [
        (["--keep", "tial", "ls"], "--keep: 'tial' is not one of head, tail,", "did you mean tail?"),
        (["-o", "JSON", "ls"], "--output: 'JSON' is not one of text, json,", "did you mean json?"),
        (["--session"], "--session needs a value: ", "the name of a session"),
        (["--fields"], "--fields needs a value: ", "--fields NAMES"),
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


def test_a_command_that_exists_is_run_whatever_its_name(inside, tmp_path):
    for name in ("500", "help", "run", "lake917365018", "notes.md"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\necho ran\n")
        program.chmod(0o755)
        assert inside(name, env={"PATH": f"{tmp_path}{os.pathsep}/usr/bin"}).out == b"ran\n"
