"""`tokcap -c STRING` works as `sh -c` does, and `tokcap-sh` can be given as SHELL."""

import os
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.terminal import Typist
from tokcap.cli.arguments import parse
from tokcap.cli.shell_flags import read_words
from tokcap.environment import Environment
from tokcap.errors import UsageError
from tokcap.system.shell import shell_argv, shell_of


@pytest.mark.parametrize(
    "words",
    [
        ["-c", "echo $# $0 $1 $2"],
        ["-c", "echo $# $0 $1 $2", "name"],
        ["-c", "echo $# $0 $1 $2", "name", "one", "two three"],
        ["-c", 'printf "<%s>" "$@"', "_", "", "a b", "-n", "--", "*", "'\"\n"],
        ["-c", "exit 42"],
        ["-c", "kill -TERM $$"],
        ["-c", "echo out; echo err >&2; exit 3"],
        ["-c", ""],
        ["-c", "cat <<'X'\n$HOME `date`\nX\n"],
        ["-c", "--", "echo dashes"],
        ["-ec", "false; echo no"],
        ["-e", "-c", "false; echo no"],
        ["-euc", "echo $no_such_variable"],
        ["-lc", "echo login"],
        ["-l", "-c", "echo login", "name"],
        ["-ceu", "echo $-"],
        ["-c", "-e", "false; echo no"],
        ["-c", "show"],
        ["-c", "read word; echo $word"],
        ["-c", "no-such-command-here"],
    ],
    ids=repr,
)
def test_a_string_runs_as_under_sh(inside, words):
    plain = subprocess.run(
        ["/bin/sh", *words], capture_output=True, input=b"typed\n", timeout=60, check=False
    )
    ran = inside(*words, stdin=b"typed\n")
    status = plain.returncode if plain.returncode >= 0 else 128 - plain.returncode
    assert (ran.out, ran.err, ran.status) == (plain.stdout, plain.stderr, status)


def test_the_flags_of_bash_are_its_own(inside):
    for words in (["-euo", "pipefail", "-c", "false | true"], ["-Eeuo", "pipefail", "-c", "false | true"]):
        assert inside(*words, env={"TOKCAP_SHELL": "bash"}).status == 1
    assert inside("-xc", "true", env={"TOKCAP_SHELL": "bash"}).err == b"+ true\n"


def test_options_of_tokcap_come_before_the_string(inside):
    assert inside("-n", "3", "--sentinel", "", "-c", "seq 100").out == b"1\n"
    for words in (["-c", "-n", "3", "seq 9"], ["-c", "-n3", "seq 9"], ["-c", "--output=json", "x"]):
        ran = inside(*words)
        assert ran.status == 125
        assert b"write options of tokcap before it" in ran.err


@pytest.mark.parametrize(
    "words", [["-c"], ["-c", "--"], ["-lc"], ["-e"], ["-l", "ls"], ["-z"], ["-q", "-c", "x"]]
)
def test_what_is_no_string_is_refused(inside, words):
    assert inside(*words).status == 125


def test_the_shell_is_the_one_that_is_named(inside):
    assert shell_of({"SHELL": "/bin/zsh"}) == "/bin/sh"
    assert inside("-c", "echo ${BASH_VERSION:+bash}", env={"TOKCAP_SHELL": "bash"}).out == b"bash\n"
    for own in ("tokcap-sh", "/usr/bin/tokcap", "bin/tokcap-sh"):
        with pytest.raises(UsageError, match="call itself without end"):
            shell_of({"TOKCAP_SHELL": own})


@given(
    st.lists(st.sampled_from(["-e", "-l", "-eu", "-i", "-x"]), max_size=3),
    st.sampled_from(["-c", "-lc", "-ec", "-ce"]),
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8), min_size=1
    ),
)
def test_every_word_reaches_the_shell_as_it_stands(flags, string_flag, words):
    if words[0].startswith("-"):
        words = ["true", *words]
    request = parse([*flags, string_flag, *words], Environment({"TOKCAP_CONFIG": ""}))
    assert request.command == ("/bin/sh", *flags, string_flag, *words)
    assert request.command == shell_argv(words, (*flags, string_flag), {})


@pytest.mark.parametrize(
    ("words", "at_terminal", "interactive"),
    [
        ([], True, True),
        ([], False, False),
        (["-l"], True, True),
        (["-i"], False, True),
        (["-s"], False, False),
        (["-c", "ls"], True, False),
        (["-ic", "ls"], True, False),
        (["-i", "-c", "ls"], True, False),
        (["script"], True, False),
        (["-e", "script", "-i"], True, False),
        (["-o", "vi"], True, True),
        (["-o", "vi", "script"], True, False),
        (["--rcfile", "mine"], True, True),
        (["--login"], True, True),
        (["--", "script"], True, False),
        (["+x"], True, True),
    ],
)
def test_a_person_at_a_terminal_is_left_alone(words, at_terminal, interactive):
    assert read_words(words).is_interactive(at_terminal=at_terminal) is interactive


@pytest.fixture
def tokcap_sh(programs):
    """The program `tokcap-sh`, as an installer writes it."""
    return str(programs / "tokcap-sh")


def shell_run(*words, **options):
    return subprocess.run(words, capture_output=True, timeout=60, check=False, **options)


def test_tokcap_sh_runs_strings_scripts_and_standard_input(tokcap_sh, tmp_path):
    script = tmp_path / "script"
    script.write_text('echo "$0 $1"; exit 4\n')
    done = shell_run(tokcap_sh, "-lc", "echo $1; exit 5", "_", "word")
    assert (done.stdout, done.returncode) == (b"word\n", 5)
    done = shell_run(tokcap_sh, str(script), "word")
    assert (done.stdout, done.returncode) == (f"{script} word\n".encode(), 4)
    done = shell_run(tokcap_sh, input=b"echo from stdin; exit 6\n")
    assert (done.stdout, done.returncode) == (b"from stdin\n", 6)
    done = shell_run(tokcap_sh, "-s", "word", input=b"echo $1\n")
    assert done.stdout == b"word\n"
    # Letters that mean something else to tokcap are the shell's here.
    assert shell_run(tokcap_sh, "-n", "-c", "echo no").stdout == b""
    assert shell_run(tokcap_sh, "-o", "errexit", "-c", "false; echo no").returncode == 1


def test_tokcap_sh_caps_as_the_settings_say(tokcap_sh):
    limited = {**os.environ, "TOKCAP_TOKEN_LIMIT": "20"}
    done = shell_run(tokcap_sh, "-c", "seq 1000", env=limited)
    assert b"[TRUNCATED]" in done.stdout
    recursive = {**os.environ, "TOKCAP_SHELL": tokcap_sh}
    assert shell_run(tokcap_sh, "-c", "true", env=recursive).returncode == 125


def linked(own, place):
    place.symlink_to(own)


def wrapped(own, place):
    place.write_text(f'#!/bin/sh\nexec {own} "$@"\n')
    place.chmod(0o755)


@pytest.mark.parametrize(
    "disguise",
    [linked, wrapped],
    ids=lambda f: f.__name__,
)
def test_tokcap_under_another_name_is_no_shell(tokcap_sh, tmp_path, disguise):
    place = tmp_path / "disguised"
    disguise(tokcap_sh, place)
    by_name = {"TOKCAP_SHELL": place.name, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    for variables in ({"TOKCAP_SHELL": str(place)}, by_name):
        done = shell_run(tokcap_sh, "-c", "echo never", env={**os.environ, **variables})
        assert (done.returncode, done.stdout) == (125, b"")
        assert b"would call itself without end; name a real shell\n" in done.stderr
        assert done.stderr.count(b"\n") == 1


def test_a_script_may_be_the_shell_and_shells_may_be_nested(tokcap_sh, tmp_path):
    shell = tmp_path / "logged"
    shell.write_text(
        f'#!/bin/sh\n# keeps a log of what tokcap runs\necho >> {tmp_path}/log; exec /bin/sh "$@"\n'
    )
    shell.chmod(0o755)
    nested = f"{tokcap_sh} -c '{tokcap_sh} -c \"{tokcap_sh} -c pwd\"'"
    done = shell_run(tokcap_sh, "-c", nested, env={**os.environ, "TOKCAP_SHELL": str(shell)}, cwd=tmp_path)
    assert (done.stdout, done.stderr) == (f"{tmp_path}\n".encode(), b"")
    assert (tmp_path / "log").read_bytes() == b"\n" * 4


def test_make_runs_its_recipes_with_tokcap_sh(tokcap_sh, tmp_path):
    if not shutil.which("make"):
        pytest.skip("make is not installed")
    (tmp_path / "Makefile").write_text("all:\n\t@seq 1000\n\t@echo done; exit 3\n")
    limited = {**os.environ, "TOKCAP_TOKEN_LIMIT": "60"}
    done = shell_run("make", "-C", str(tmp_path), f"SHELL={tokcap_sh}", env=limited)
    assert b"1\n2\n" in done.stdout
    assert b"[TRUNCATED]" in done.stdout
    assert b"done\n" in done.stdout
    assert b"Error 3" in done.stderr


def test_on_a_terminal_tokcap_sh_is_the_real_shell(tokcap_sh):
    with Typist("env", "TOKCAP_SHELL=/bin/sh", tokcap_sh) as typist:
        typist.expect("$ ")
        typist.type("cat /proc/$$/comm; [ -t 1 ] && echo real terminal\n")
        typist.expect("sh\r\nreal terminal")
        # glibc uses the signals from 32 on, and a process that is started by posix_spawn may ignore them.
        typist.type("sed -n 's/^SigIgn:.*[08]0000000$/none''-ignored/p' /proc/self/status\n")
        typist.expect("none-ignored")
        typist.type("exit 3\n")
        assert typist.wait() == 3
