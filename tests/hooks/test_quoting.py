"""A rewritten command does what the original does. Real shells run both."""

import os
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.program import PYTHON
from tests.support.shell_commands import EVERY_SHELL, ONLY_BASH
from tokcap.hooks.base import Launch
from tokcap.hooks.rewrite import rewritten, wrapped
from tokcap.system.quoting import quoted

# The program itself, under the name that the rewritten commands have for it.
TOKCAP = f"""#!/bin/sh
exec {PYTHON} -m tokcap "$@"
"""


@pytest.fixture
def world(tmp_path):
    """An environment in which there is a `tokcap`."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "tokcap").write_text(TOKCAP)
    (programs / "tokcap").chmod(0o755)
    inside = tmp_path / "inside"
    inside.mkdir()
    return {
        "cwd": inside,
        "env": {
            "HOME": str(tmp_path),
            "PATH": f"{programs}:{os.environ['PATH']}",
            "LC_ALL": "C.UTF-8",
        },
    }


def ran(shell, command, world):
    done = subprocess.run(
        [shell, "-c", command],
        input=b"first\nsecond\n",
        capture_output=True,
        timeout=60,
        check=False,
        **world,
    )
    return done.returncode, done.stdout, done.stderr.replace(shell.encode(), b"SHELL")


def test_there_are_a_hundred_of_them():
    assert len({*EVERY_SHELL, *ONLY_BASH}) >= 100


@pytest.mark.parametrize("shell", ["sh", "bash", "zsh"])
@pytest.mark.parametrize("command", EVERY_SHELL, ids=range(len(EVERY_SHELL)))
def test_a_rewritten_command_has_the_output_and_status_of_the_original(shell, command, world):
    shell = shutil.which(shell) or pytest.skip(f"no {shell}")
    launch = Launch(options=("--token-limit", "50000"), shell=shell)
    assert ran(shell, wrapped(command, launch), world) == ran(shell, command, world)


@pytest.mark.parametrize("command", ONLY_BASH, ids=range(len(ONLY_BASH)))
def test_what_only_bash_understands_is_run_by_bash(command, world):
    bash = shutil.which("bash")
    assert ran(bash, wrapped(command, Launch(shell=bash)), world) == ran(bash, command, world)


@pytest.mark.parametrize("shell", ["bash", "zsh"])
@pytest.mark.parametrize(
    "command",
    [
        "cd sub && ls",
        "cd 'sub' && ls | cat && echo 'a;b'",
        'cd "$PWD/sub" && pwd',
        "cd nowhere && ls",
        "cd nowhere; ls",
        "cd sub && no_such_program",
        "cd sub && cd .. && ls",
        "ls && cd sub",
        "pushd sub && ls",
        "(cd sub && ls)",
        "cd sub && ls || echo failed",
        "cd nowhere && ls || echo failed",
        "ls sub",
    ],
)
def test_the_shell_ends_in_the_same_directory_as_with_the_original(shell, command, world):
    shell = shutil.which(shell) or pytest.skip(f"no {shell}")
    (world["cwd"] / "sub").mkdir()
    (world["cwd"] / "sub" / "file").touch()
    launch = Launch(shell=shell, path=world["env"]["PATH"], keeps_directory=True)
    # An agent asks for the directory in the same shell, once the command is done.
    ask = "\n{ echo $?; pwd -P; }"
    given_on = rewritten(command, launch) or command
    assert ran(shell, given_on + ask, world) == ran(shell, command + ask, world)


@pytest.mark.parametrize("shell", ["sh", "bash", "zsh"])
def test_any_text_reaches_the_program_as_it_is(shell, tmp_path):
    shell = shutil.which(shell) or pytest.skip(f"no {shell}")
    texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)

    @given(texts)
    @settings(max_examples=60, deadline=None)
    def holds(text):
        done = subprocess.run(
            [shell, "-c", f"printf %s {quoted(text)}"], capture_output=True, timeout=60, check=False
        )
        assert done.stdout == text.encode()

    holds()
