"""Which commands are rewritten and which stay as they are, before any agent's rules are looked at."""

import os
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokcap.hooks import commandline
from tokcap.hooks.base import Launch
from tokcap.hooks.rewrite import MAX_COMMAND_BYTES, launch_options, rewritten

BASH = "/bin/bash"
LAUNCH = Launch(shell=BASH, path=os.environ["PATH"], keeps_directory=True)
FRONT = f"TOKCAP_SHELL={BASH} tokcap -c "


@pytest.mark.parametrize(
    "command",
    [
        "",
        "   ",
        "\n",
        "tokcap -n 5 -- ls",
        "tokcap -c 'ls'",
        "/usr/local/bin/tokcap -- ls",
        "exec tokcap -- ls",
        "X=1 tokcap -- ls",
        "env X=1 tokcap -- ls",
        "ls | tokcap -n 5",
        "ls; tokcap -- ls",
        "if true; then tokcap -- ls; fi",
        "'tokcap' -- ls",
        'tok"cap" -- ls',
        "tokcap-sh -c ls",
    ],
)
def test_nothing_and_what_runs_under_tokcap_already_stays(command):
    assert rewritten(command, LAUNCH) is None


@pytest.mark.parametrize(
    "command", ["echo tokcap", "cat 'tokcap'", "ls tokcap/hooks", "git log --grep tokcap"]
)
def test_only_naming_tokcap_is_not_running_it(command):
    assert rewritten(command, LAUNCH).startswith(FRONT)


@pytest.mark.parametrize(
    "command",
    [
        "cd src",
        "cd",
        "pushd src",
        "popd",
        "export X=1",
        "source venv/bin/activate",
        ". ./env",
        "alias ll='ls -l'",
        "unset X",
        "set -e",
        "X=1",
        "export X=1; alias a=b",
        "cd src; make",
        "cd src || ls",
        "make && cd src",
        "ls; cd src && ls",
        "eval 'cd src'",
        "if true; then cd src; fi",
        "for d in a b; do cd $d; ls; cd ..; done",
        "(cd src && ls)",
        "cd src && ls; pwd",
        "cd src && ls || pwd",
        "cd src && cd sub && ls",
        "cd $(git rev-parse --show-toplevel) && ls",
        "cd a b && ls",
    ],
)
def test_what_the_shell_would_lose_stays(command):
    assert rewritten(command, LAUNCH) is None


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cd src && ls", f"cd src && {FRONT}'ls'"),
        ("cd /a/b-c && git log | head -3 && ls 2>&1", f"cd /a/b-c && {FRONT}'git log | head -3 && ls 2>&1'"),
        ('cd "my dir" && ls', f"cd \"my dir\" && {FRONT}'ls'"),
        ("cd ~/x&&ls", f"cd ~/x&& {FRONT}'ls'"),
        ("cd $DIR && ls 'a;b'", f"cd $DIR && {FRONT}'ls '\\''a;b'\\'''"),
    ],
)
def test_a_move_in_front_stays_outside_so_that_the_shell_keeps_it(command, expected):
    assert rewritten(command, LAUNCH) == expected


@pytest.mark.parametrize(
    "command", ["sleep 9 &", "ls & ls", "(sleep 9 &)", "nohup sleep 9 &", "cat <<E &\nx\nE"]
)
def test_what_goes_on_in_the_background_stays(command):
    assert rewritten(command, LAUNCH) is None


@pytest.mark.parametrize("command", ["ls 2>&1", "ls &> /dev/null", "ls && ls", "echo 'a & b'", "ls |& cat"])
def test_an_ampersand_alone_does_not_make_a_background(command):
    assert rewritten(command, LAUNCH).startswith(FRONT)


def test_a_program_that_only_the_agents_shell_knows_stays():
    assert rewritten("my_function_of_bashrc --x", LAUNCH) is None
    assert rewritten("ls | my_alias", LAUNCH) is None
    assert rewritten("./anything here", LAUNCH).startswith(FRONT)


@pytest.mark.parametrize("command", ["-x", "  +x", "ls \0 x"])
def test_what_no_shell_takes_as_a_command_stays(command):
    assert rewritten(command, LAUNCH) is None


def test_a_command_too_long_for_one_argument_stays():
    assert rewritten("echo " + "x" * (MAX_COMMAND_BYTES - 100), LAUNCH) is not None
    assert rewritten("echo " + "x" * MAX_COMMAND_BYTES, LAUNCH) is None
    assert rewritten("echo " + "'" * (MAX_COMMAND_BYTES // 2), LAUNCH) is None


@given(st.text("ab $'\"\\;|&<>(){}#\n\tcd", max_size=25))
def test_a_rewritten_command_is_never_rewritten_again(command):
    once = rewritten(command, LAUNCH)
    assert once is None or rewritten(once, LAUNCH) is None


@given(st.text("ab'\"\\ \t-=", max_size=20))
def test_words_are_those_that_a_shell_reads(command):
    try:
        expected = shlex.split(command)
    except ValueError:
        expected = None
    found = commandline.simple_commands(command)
    assert found == (None if expected is None else [expected] if expected else [])


@given(st.text("abc '\"\\\n;|&", max_size=20))
def test_every_word_is_among_the_bare_words_as_far_as_quotes_go(command):
    for words in commandline.simple_commands(command) or ():
        for word in words:
            pieces = commandline.bare_words(word)
            assert all(any(piece in bare for bare in commandline.bare_words(command)) for piece in pieces)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], ()),
        (["--token-limit", "5"], ("--token-limit", "5")),
        (["--session", "a b", "--token-limit", "5"], ("--session", "a b", "--token-limit", "5")),
        (["--token-limit"], None),
        (["--token-limit", "x"], None),
        (["--token-limit", "5", "--token-limit", "6"], None),
        (["--timeout", "5"], None),
        (["-c", "id"], None),
    ],
)
def test_only_known_options_are_handed_on(words, expected):
    assert launch_options(words) == expected
