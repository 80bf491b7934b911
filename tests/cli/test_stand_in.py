"""`tokcap-bash` and `tokcap-zsh` can be given as a shell: limits, signals, background processes, nesting."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import children_of, command_line, state_of, wait_for
from tests.support.program import PACKAGE
from tests.support.reference import recount
from tests.support.terminal import Typist
from tests.support.tiers import as_nightly
from tokcap.environment import Inside
from tokcap.errors import CommandNotFound, UsageError
from tokcap.hooks.own_files import bash_env
from tokcap.system.shell import find_shell

pytestmark = pytest.mark.usefixtures("with_store")

if not shutil.which("bash"):
    pytest.skip("bash is not installed", allow_module_level=True)

LIMIT = 4000
# Nothing here depends on how long it really takes.
TIMEOUT_SECONDS = 120
# The path without the programs of tokcap.
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


@pytest.fixture(autouse=True)
def path_with_tokcap(programs, monkeypatch):
    monkeypatch.delenv("BASH_ENV", raising=False)
    monkeypatch.setenv("PATH", f"{programs}:{SYSTEM_PATH}")


def run(*words, **options):
    options = {"capture_output": True, **options}
    return subprocess.run(words, timeout=TIMEOUT_SECONDS, check=False, **options)


def start(*words, **options):
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


def is_running(pid):
    return state_of(pid) not in ("", "Z", "X")


def only_child(pid, name):
    """Return the child of a process, when it runs this program."""
    wait_for(lambda: any(name in command_line(child) for child in children_of(pid)))
    (child,) = children_of(pid)
    return child


class TestTheLimit:
    def test_is_4000_tokens_if_nothing_is_configured(self):
        done = run("tokcap-bash", "-c", "seq 1 100000; exit 3")
        assert done.returncode == 3
        assert LIMIT - 200 < recount(done.stdout + done.stderr) <= LIMIT
        assert b"[TRUNCATED]" in done.stdout

    @pytest.mark.parametrize("shell", ["tokcap-bash", "tokcap-zsh"])
    def test_comes_from_variables_and_the_config_file(self, shell, tmp_path):
        if not shutil.which(shell.removeprefix("tokcap-")):
            pytest.skip(f"{shell} has no shell to run")
        done = run(shell, "-c", "seq 1 10000", env={**os.environ, "TOKCAP_TOKEN_LIMIT": "100"})
        assert recount(done.stdout) <= 100
        config = tmp_path / "config.toml"
        config.write_text("token_limit = 200\n")
        done = run(shell, "-c", "seq 1 10000", env={**os.environ, "TOKCAP_CONFIG": str(config)})
        assert 100 < recount(done.stdout) <= 200

    def test_covers_scripts_and_standard_input(self, tmp_path):
        (tmp_path / "script").write_text("seq 1 10000\n")
        for words, given in ((["script"], b""), (["-s"], b"seq 1 10000\n"), ([], b"seq 1 10000\n")):
            done = run("tokcap-bash", *words, input=given, cwd=tmp_path)
            assert recount(done.stdout) <= LIMIT
            assert b"[TRUNCATED]" in done.stdout

    def test_covers_both_streams_and_keeps_the_error(self):
        done = run("tokcap-bash", "-c", "seq 1 10000; echo 'error: it broke' >&2; exit 1")
        assert recount(done.stdout + done.stderr) <= LIMIT
        assert done.stderr == b"error: it broke\n"

    def test_holds_in_one_pipe_where_the_order_of_the_streams_is_kept(self):
        done = run(
            "tokcap-bash",
            "-c",
            "echo 1; echo 2 >&2; echo 3; seq 1 10000 >&2",
            stderr=subprocess.STDOUT,
            stdout=subprocess.PIPE,
            capture_output=False,
        )
        assert done.stdout.startswith(b"1\n2\n3\n1\n2\n")
        assert recount(done.stdout) <= LIMIT


class TestTheMark:
    def mark(self, *words, **variables):
        done = run(*words, env={**os.environ, **variables})
        return re.search(r"; (\S+) show", done.stdout.decode())[1]

    def test_names_tokcap_if_it_is_on_the_path(self):
        assert self.mark("tokcap-bash", "-c", "seq 1 10000") == "tokcap"

    def test_names_its_path_if_it_is_not(self, programs):
        named = self.mark(f"{programs}/tokcap-bash", "-c", "seq 1 10000", PATH=SYSTEM_PATH)
        assert named == f"{programs}/tokcap"

    @pytest.mark.parametrize(
        "flags", [["-lc"], ["-c", "-l"], *map(as_nightly, [["-l", "-c"], ["--login", "-c"]])]
    )
    def test_names_its_path_in_a_login_shell_which_may_reset_the_path(self, flags, programs):
        assert self.mark("tokcap-bash", *flags, "seq 1 10000") == f"{programs}/tokcap"

    def test_names_a_command_that_works_in_that_shell(self, programs):
        # Pages of the beginning follow one another.
        world = {**os.environ, "PATH": SYSTEM_PATH, "TOKCAP_KEEP": "head"}
        shell = f"{programs}/tokcap-bash"
        shown, page = b"", run(shell, "-c", "seq 1 8000", env=world).stdout
        for _ in range(30):
            text, mark, rest = page.partition(b"[TRUNCATED]")
            shown += text
            if not mark:
                break
            command = rest.decode().partition("; ")[2].strip()
            page = run(shell, "-c", command, env=world).stdout
        assert shown == b"".join(b"%d\n" % number for number in range(1, 8001))

    def test_names_the_path_in_the_answers_of_tokcap_itself(self, programs):
        world = {**os.environ, "PATH": SYSTEM_PATH}
        inner = f"seq 1 10000 | {programs}/tokcap -n 100"
        assert (
            f"; {programs}/tokcap show".encode()
            in run(f"{programs}/tokcap-bash", "-c", inner, env=world).stdout
        )


class TestTokcapInside:
    def stored(self, data):
        return [*(data / "spill").glob("??/*")]

    def test_a_page_is_neither_cut_nor_stored_again(self, with_store):
        run("tokcap-bash", "-c", "seq 1 100000")
        assert len(self.stored(with_store)) == 1
        direct = run("tokcap", "show", "@last", "--token-offset", "500")
        for words in (
            "tokcap show @last --token-offset 500",
            "eval 'tokcap show @last --token-offset 500' && true",
        ):
            assert run("tokcap-bash", "-c", words).stdout == direct.stdout
        large = run("tokcap-bash", "-c", "tokcap show @last -n 100000")
        assert recount(large.stdout) <= LIMIT
        assert large.stdout.count(b"[TRUNCATED]") == 1
        assert len(self.stored(with_store)) == 1

    def test_a_page_that_is_written_to_a_file_is_not_limited(self, tmp_path):
        run("tokcap-bash", "-c", "seq 1 20000")
        run("tokcap-bash", "-c", "tokcap show @last -n 1000000 > all", cwd=tmp_path)
        assert (tmp_path / "all").read_bytes().endswith(b"\n20000\n")

    def test_a_smaller_limit_inside_stands(self, with_store):
        done = run("tokcap-bash", "-c", "tokcap -n 100 seq 1 10000; echo end")
        assert done.stdout == run("tokcap", "-n", "100", "seq", "1", "10000").stdout + b"end\n"
        assert len(self.stored(with_store)) == 1

    def test_a_larger_limit_inside_becomes_the_outer_one(self, with_store):
        done = run("tokcap-bash", "-c", "tokcap -n 100000 seq 1 100000")
        assert recount(done.stdout) <= LIMIT
        assert done.stdout.count(b"[TRUNCATED]") == 1
        assert len(self.stored(with_store)) == 1

    def test_shells_inside_are_not_capped(self):
        done = run(
            "tokcap-bash", "-c", "tokcap-bash -c 'seq 1 50000' | wc -l; tokcap-zsh -c 'seq 1 50000' | wc -l"
        )
        assert done.stdout.split()[:1] == [b"50000"]

    def test_an_empty_variable_means_that_nothing_is_around(self):
        done = run("tokcap-bash", "-c", "TOKCAP_INSIDE= tokcap-bash -c 'seq 1 50000' | wc -l")
        assert int(done.stdout) < 3000

    def test_a_variable_that_was_set_by_hand_does_no_harm(self):
        for text in ("1", "yes", "1:2", "a:b:c", ":::", "9999999999999999999999:1:tokcap"):
            assert Inside.read_from(text).program == "tokcap"
        done = run("tokcap", "-n", "30", "seq", "100", env={**os.environ, "TOKCAP_INSIDE": "a:b:c"})
        assert done.returncode == 0
        assert done.stdout.startswith(b"1\n2\n")


class TestSignals:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
    def test_to_the_shell_end_what_runs(self, number):
        shell = start("tokcap-bash", "-c", "echo before; exec sleep 60")
        child = only_child(shell.pid, b"sleep")
        shell.send_signal(number)
        assert shell.wait(TIMEOUT_SECONDS) == -number
        wait_for(lambda: not is_running(child))
        shell.stdout.close()

    def test_to_the_process_group_end_what_runs_and_show_what_was_written(self):
        shell = start("tokcap-bash", "-c", "echo before; sleep 60; echo never", start_new_session=True)
        only_child(only_child(shell.pid, b"bash"), b"sleep")
        os.killpg(shell.pid, signal.SIGTERM)
        out, _ = shell.communicate(timeout=TIMEOUT_SECONDS)
        assert (out, shell.returncode) == (b"before\n", -signal.SIGTERM)

    def test_that_end_the_shell_end_its_stand_in_too(self):
        for name in ("KILL", "TERM", "SEGV", "ABRT", "USR1"):
            done = run("tokcap-bash", "-c", f"echo a; ulimit -c 0; kill -{name} $$")
            assert (done.stdout, done.returncode) == (b"a\n", -signal.Signals[f"SIG{name}"])

    def test_a_reader_that_goes_away_ends_the_command(self):
        shell = start("tokcap-bash", "-c", "yes")
        only_child(shell.pid, b"yes")
        shell.stdout.close()
        assert shell.wait(TIMEOUT_SECONDS) == -signal.SIGPIPE


class TestBackgroundProcesses:
    def test_the_shell_returns_while_they_run(self, tmp_path):
        """The reader of a file does not wait for its end."""
        with open(tmp_path / "out", "wb") as file:
            done = run(
                "tokcap-bash",
                "-c",
                "(while [ ! -e stop ]; do sleep 0.05; done; echo later) & echo $!",
                stdout=file,
                stderr=file,
                stdin=subprocess.DEVNULL,
                capture_output=False,
                cwd=tmp_path,
            )
        assert done.returncode == 0
        pid = int((tmp_path / "out").read_text())
        assert is_running(pid)
        (tmp_path / "stop").touch()
        wait_for(lambda: (tmp_path / "out").read_text() == f"{pid}\nlater\n")
        wait_for(lambda: not is_running(pid))

    def test_what_they_write_later_reaches_both_streams(self):
        done = run("tokcap-bash", "-c", "(sleep 0.5; echo later; echo and err >&2) & echo first")
        assert (done.stdout, done.stderr) == (b"first\nlater\n", b"and err\n")

    def test_they_survive_that_the_process_group_of_the_shell_is_killed(self, tmp_path):
        with open(tmp_path / "out", "wb") as file:
            shell = subprocess.Popen(
                [
                    "tokcap-bash",
                    "-c",
                    "setsid bash -c 'until [ -e stop ]; do sleep .1; done; echo later; echo >end'& sleep 0.2",
                ],
                stdout=file,
                stderr=file,
                cwd=tmp_path,
                start_new_session=True,
            )
            shell.wait(TIMEOUT_SECONDS)
        try:
            os.killpg(shell.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        (tmp_path / "stop").touch()
        wait_for(lambda: (tmp_path / "end").exists())
        wait_for(lambda: (tmp_path / "out").read_text() == "later\n")

    def test_what_they_write_later_is_capped_to_what_is_left_and_stored(self):
        done = run("tokcap-bash", "-c", "(sleep 0.4; seq 1 20000) & echo first")
        assert done.stdout.startswith(b"first\n1\n2\n")
        assert recount(done.stdout) <= LIMIT
        handle = re.search(rb"tokcap show (\w+)", done.stdout)[1].decode()
        assert run("tokcap", "show", handle, "-n", "1000000").stdout.endswith(b"\n20000\n")

    def test_they_go_on_if_nothing_is_left(self, tmp_path):
        done = run(
            "tokcap-bash", "-c", "seq 1 20000; (sleep 0.4; seq 1 30000; echo done > end) &", cwd=tmp_path
        )
        assert recount(done.stdout) <= LIMIT
        assert (tmp_path / "end").exists()
        assert run("tokcap", "show", "@last", "-n", "1000000").stdout.endswith(b"\n30000\n")

    def test_they_get_a_broken_pipe_when_the_caller_has_gone(self, tmp_path):
        shell = start(
            "tokcap-bash",
            "-c",
            "(trap '' PIPE; while echo x; do sleep 0.05; done; echo $? > end) 2> /dev/null &",
            cwd=tmp_path,
        )
        shell.wait(TIMEOUT_SECONDS)
        shell.stdout.close()
        wait_for(lambda: (tmp_path / "end").exists())

    def test_no_process_stays_when_they_have_ended(self, tmp_path):
        mark = f"MARK_OF_THIS_TEST={tmp_path}"
        name, _, value = mark.partition("=")
        os.mkfifo(tmp_path / "go")
        command = f"cat {shlex.quote(str(tmp_path / 'go'))} &"
        shell = start("tokcap-bash", "-c", command, env={**os.environ, name: value})
        # The variables of a process can be read only some time after it was started.
        wait_for(lambda: processes_with(mark))
        (tmp_path / "go").write_bytes(b"")
        shell.communicate(timeout=TIMEOUT_SECONDS)
        wait_for(lambda: not processes_with(mark))


def processes_with(variable):
    """Return the processes that have this variable, as this test has set it."""
    found = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if variable.encode() in file.read().split(b"\0"):
                        found.add(int(name))
            except OSError:
                pass
    return found


class TestLongCommands:
    """As an agent sees a command that it has put into the background: it reads the file from time to time."""

    @pytest.fixture
    def started(self, tmp_path):
        shells = []
        shell = tmp_path / "tokcap-bash"
        # Shows the beginning of what a command writes earlier than others do.
        shell.write_text(
            f"import sys\nsys.path.insert(0, {str(PACKAGE.parent)!r})\nfrom tokcap.cli import stand_in\n"
            "from tokcap.source import command\ncommand.SHOW_AFTER_SECONDS = 0.5\n"
            "stand_in.stand_in('bash', sys.argv[1:])\n"
        )

        def start_in_background(string):
            with open(tmp_path / "out", "wb") as file:
                words = [sys.executable, str(shell), "-c", string]
                shells.append(
                    subprocess.Popen(words, stdout=file, stderr=file, cwd=tmp_path, start_new_session=True)
                )
            return shells[-1]

        yield start_in_background
        for shell in shells:
            if shell.poll() is None:
                os.killpg(shell.pid, signal.SIGKILL)
                shell.wait()

    def test_the_beginning_is_shown_while_the_command_runs(self, started, tmp_path):
        started("echo listening; sleep 60")
        wait_for(lambda: (tmp_path / "out").read_bytes() == b"listening\n")

    def test_a_line_leads_to_what_is_written_while_it_runs(self, started, tmp_path, inside):
        shell = started("seq 1 9000; until [ -e stop ]; do sleep 0.1; done; echo late; exit 3")
        wait_for(lambda: b"[RUNNING] " in (tmp_path / "out").read_bytes())
        shown = (tmp_path / "out").read_bytes()
        *lines, line = shown.decode().splitlines()
        name, place = re.fullmatch(r"\[RUNNING\] \S+ wait (@\w+) --since (\d+)", line).groups()
        assert int(place) == len(shown) - len(line) - 1
        ran = inside("wait", name, "--since", place, "--timeout", "1ms")
        assert ran.out.startswith(b"%d\n" % (len(lines) + 1))
        (tmp_path / "stop").touch()
        assert shell.wait(TIMEOUT_SECONDS) == 3
        written = (tmp_path / "out").read_bytes()
        assert recount(written) <= LIMIT
        assert written.startswith(shown + b"%d\n" % (len(lines) + 1))
        assert b"\nlate\n" in written

    def test_the_answer_goes_on_after_what_was_shown(self, started, tmp_path):
        shell = started(
            "seq 1 9000; until [ -e stop ]; do sleep 0.1; done; seq 1 5000 | tr 0-9 a-j;"
            "echo 'error: it broke here'; seq 9001 20000; exit 3"
        )
        wait_for(lambda: (tmp_path / "out").stat().st_size > 0)
        shown = (tmp_path / "out").read_bytes()
        assert LIMIT // 8 < recount(shown) <= LIMIT // 4
        (tmp_path / "stop").touch()
        assert shell.wait(TIMEOUT_SECONDS) == 3
        written = (tmp_path / "out").read_bytes()
        assert written.startswith(shown)
        assert recount(written) <= LIMIT
        # The rest of the limit is for what matters.
        assert b"\nerror: it broke here\n" in written
        assert b"\n20000\n" in written
        assert written.count(b"tokcap show") == 1

    def test_a_document_is_not_torn(self, started, tmp_path):
        shell = started("printf '[1'; for n in $(seq 2 9000); do printf ',%d' $n; done; sleep 1; echo ']'")
        shell.wait(TIMEOUT_SECONDS)
        document, _, note = (tmp_path / "out").read_text().partition("\n")
        assert json.loads(document)[:2] == [1, 2]
        assert "tokcap show" in note


class TestWhichShell:
    def test_the_real_one_is_searched_for_on_the_path(self, tmp_path):
        place = tmp_path / "bash"
        shutil.copy(shutil.which("bash"), place)
        shell = find_shell("bash", {"PATH": f"{tmp_path}:{SYSTEM_PATH}"})
        assert (shell.path, shell.name) == (str(place), "bash")

    def test_tokcap_shell_is_used_if_it_names_such_a_shell(self):
        assert find_shell("bash", {"PATH": "/nowhere", "TOKCAP_SHELL": "/opt/bash"}).path == "/opt/bash"
        assert find_shell("bash", {"PATH": SYSTEM_PATH, "TOKCAP_SHELL": "/bin/zsh"}).path.endswith("/bash")
        with pytest.raises(UsageError, match="call itself without end"):
            find_shell("tokcap-bash", {"TOKCAP_SHELL": "tokcap-bash"})

    @pytest.mark.parametrize("disguise", ["link", "copy", "wrapper"])
    def test_tokcap_under_the_name_of_the_shell_is_passed_over(self, disguise, programs, tmp_path):
        own, place = programs / "tokcap-bash", tmp_path / "bash"
        if disguise == "link":
            place.symlink_to(own)
        elif disguise == "copy":
            shutil.copy(own, place)
        else:
            place.write_text(f'#!/bin/sh\nexec {own} "$@"\n')
            place.chmod(0o755)
        for shell in (str(own), str(place)):
            done = run(
                shell,
                "-c",
                "echo $((6 * 7)); exit 5",
                env={**os.environ, "PATH": f"{tmp_path}:{SYSTEM_PATH}"},
            )
            assert (done.stdout, done.stderr, done.returncode) == (b"42\n", b"", 5)

    def test_a_shell_that_is_not_installed_is_reported(self):
        with pytest.raises(CommandNotFound, match="nosh: command not found"):
            find_shell("nosh", {"PATH": SYSTEM_PATH})


class TestAtATerminal:
    def test_it_is_the_real_shell(self, programs):
        with Typist("env", "PS1=ready> ", f"{programs}/tokcap-bash", "--norc", "--noprofile") as typist:
            typist.expect("ready> ")
            typist.type("cat /proc/$$/comm; [ -t 1 ] && echo real terminal\n")
            typist.expect("bash\r\nreal terminal")
            typist.type("exit 3\n")
            assert typist.wait() == 3

    def test_a_string_is_capped_and_no_progress_is_drawn(self, programs):
        with Typist(
            "env", "TOKCAP_TOKEN_LIMIT=60", f"{programs}/tokcap-bash", "-c", "seq 1 500; sleep 2"
        ) as typist:
            typist.expect("[TRUNCATED]")
            assert typist.wait() == 0
            assert "\x1b" not in typist.seen


class TestTheStartUpFile:
    @pytest.fixture
    def variables(self, programs, tmp_path):
        file = tmp_path / "start up.sh"
        file.write_text(bash_env(f"{programs}/tokcap-bash"))
        return {**os.environ, "BASH_ENV": str(file)}

    def test_strings_are_capped_once(self, variables, with_store):
        done = run("bash", "-c", "bash -c 'seq 1 50000' | wc -l; seq 1 50000", env=variables)
        assert done.stdout.startswith(b"50000\n1\n")
        assert recount(done.stdout) <= LIMIT
        # And what `wc` reads.
        assert len([*(with_store / "spill").glob("??/*")]) == 2

    @pytest.mark.parametrize(
        "words", [["-lc"], ["-o", "pipefail", "-c"], *map(as_nightly, [["-l", "-c"], ["-ec"]])]
    )
    def test_strings_are_capped_with_any_flags(self, variables, words):
        assert recount(run("bash", *words, "seq 1 50000", env=variables).stdout) <= LIMIT

    def test_scripts_are_left_alone(self, variables, tmp_path):
        (tmp_path / "script").write_text("seq 1 50000\n")
        assert run("bash", "script", env=variables, cwd=tmp_path).stdout.count(b"\n") == 50000
        assert run("bash", env=variables, input=b"seq 1 50000").stdout.count(b"\n") == 50000

    def test_nothing_happens_inside_of_tokcap(self, variables):
        variables["TOKCAP_INSIDE"] = "1"
        assert run("bash", "-c", "seq 1 50000", env=variables).stdout.count(b"\n") == 50000

    def test_a_program_that_is_gone_does_no_harm(self, tmp_path):
        (tmp_path / "broken").write_text("#!/nonexistent/python\n")
        (tmp_path / "broken").chmod(0o755)
        (tmp_path / "env").write_text(bash_env(str(tmp_path / "broken")))
        plain = run("bash", "-euc", 'echo "$_ $? $-"; declare -p | wc -l; shopt')
        broken = run(
            "bash",
            "-euc",
            'echo "$_ $? $-"; declare -p | wc -l; shopt',
            env={**os.environ, "BASH_ENV": str(tmp_path / "env")},
        )
        assert broken.stdout.splitlines()[2:] == plain.stdout.splitlines()[2:]
        (tmp_path / "broken").unlink()
        gone = run(
            "bash", "-euc", 'echo "$_ $? $-"; shopt', env={**os.environ, "BASH_ENV": str(tmp_path / "env")}
        )
        assert (gone.stderr, gone.returncode) == (b"", 0)

    def test_without_proc_the_call_is_put_together(self, variables, tmp_path):
        file = tmp_path / "no proc"
        file.write_text(Path(variables["BASH_ENV"]).read_text().replace("/proc/self", "/nowhere"))
        variables["BASH_ENV"] = str(file)
        for words in (["-euo", "pipefail", "-c"], ["-c"], ["-lc"]):
            line = [
                *words,
                'echo "$- $0 $1 $#"; shopt -o pipefail; shopt login_shell; seq 1 50000',
                "name",
                "a b",
            ]
            done = run("bash", *line, env=variables)
            plain = run("bash", *line)
            assert recount(done.stdout) <= LIMIT
            assert done.stdout.splitlines()[:3] == plain.stdout.splitlines()[:3]

    def test_it_is_printed_by_the_hook_command(self, programs):
        done = run("tokcap", "hook", "print-env")
        assert done.stdout.decode() == bash_env(f"{programs}/tokcap-bash")
        assert run("bash", "-n", "/dev/stdin", input=done.stdout).returncode == 0
