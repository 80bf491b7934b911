"""`--pty` gives the command a terminal and lends it the caller's keyboard."""

import os
import pty
import shlex
import signal
import subprocess
import sys
import time

import pytest

from tests.support.terminal import Typist
from tests.support.tiers import times

TOKCAP = [sys.executable, "-m", "tokcap"]


def test_the_command_sees_a_terminal_and_both_streams_are_one(inside):
    ran = inside("--pty", "--", "sh", "-c", "[ -t 1 ] && [ -t 2 ] && echo yes; echo err >&2; echo out")
    assert (ran.status, ran.out, ran.err) == (0, b"yes\nerr\nout\n", b"")


def test_it_is_the_controlling_terminal(inside):
    ran = inside("--pty", "--", "sh", "-c", "echo hello > /dev/tty; ps -o tty= -p $$ | grep -c pts")
    assert ran.out == b"hello\n1\n"


def test_stdin_stays_what_it_was_without_a_keyboard(inside):
    ran = inside("--pty", "--", "sh", "-c", "[ -t 0 ] || cat", stdin=b"given\0\x03\x04bytes")
    assert ran.out == b"given\0\x03\x04bytes"


def test_stderr_can_still_be_dropped_or_passed(tokcap):
    script = "echo out; echo err >&2"
    ran = tokcap("--pty", "--stderr", "drop", "--", "sh", "-c", script)
    assert (ran.out, ran.err) == (b"out\n", b"")
    ran = tokcap("--pty", "--stderr", "pass", "--", "sh", "-c", script)
    assert (ran.out, ran.err) == (b"out\n", b"err\n")


@pytest.mark.parametrize(
    ("variables", "size"),
    [({}, b"24 80\n"), ({"LINES": "50", "COLUMNS": "132"}, b"50 132\n"), ({"LINES": "x"}, b"24 80\n")],
)
def test_without_a_terminal_the_size_comes_from_the_variables(inside, variables, size, monkeypatch):
    monkeypatch.delenv("LINES", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)
    assert inside("--pty", "--", "sh", "-c", "stty size < /dev/tty", env=variables).out == size


def test_the_last_bytes_are_never_lost_on_a_terminal_either(inside):
    for _ in range(15 * times()):
        assert inside("--pty", "--", "printf", "Bingo").out == b"Bingo"


def test_a_megabyte_comes_through_the_terminal(inside):
    assert inside("--pty", "--", "seq", "150000").out == "".join(f"{n}\n" for n in range(1, 150001)).encode()


def test_exit_statuses_come_out(inside):
    assert inside("--pty", "--", "sh", "-c", "exit 42").status == 42
    assert inside("--pty", "--", "sh", "-c", "kill -SEGV $$").status == 139
    assert inside("--pty", "--", "no-such-command-here").status == 127
    assert inside("--pty", "--timeout", "200ms", "--", "sleep", "60").status == 124


def test_a_grandchild_does_not_hold_tokcap_on_a_terminal(inside):
    ran = inside("--pty", "--", "sh", "-c", "(trap '' HUP; exec sleep 600) & echo $!")
    # It still runs, so tokcap did not wait for it.
    os.kill(int(ran.out), signal.SIGKILL)


def test_the_size_of_the_callers_terminal_and_its_changes_reach_the_command():
    script = "trap 'stty size; exit 6' WINCH; stty size; while :; do sleep 0.05; done"
    with Typist(*TOKCAP, "--pty", "--", "sh", "-c", script, rows=33, columns=77) as typist:
        typist.expect("33 77")
        typist.resize(44, 99)
        typist.expect("44 99")
        assert typist.wait() == 6


def test_a_password_is_asked_for_and_not_shown():
    script = "import getpass; print('got', getpass.getpass('Word: ')[::-1])"
    with Typist(*TOKCAP, "--pty", "--", sys.executable, "-c", script) as typist:
        typist.expect("Word: ")
        typist.type("secret\r")
        typist.expect("got terces")
        assert typist.wait() == 0
        assert "secret" not in typist.seen
        # The caller's terminal is restored.
        assert typist.echoes


def test_what_is_typed_is_edited_and_echoed_by_the_commands_terminal():
    with Typist(*TOKCAP, "--pty", "--", "sh", "-c", "echo ready; read -r word; echo [$word]") as typist:
        typist.expect("ready")
        typist.type("helxx\x7f\x7flo\r")
        typist.expect("[hello]")
        assert typist.wait() == 0


def test_more_can_be_pasted_than_a_terminal_holds():
    script = "stty raw -echo; echo ready; sleep 0.4; head -c 20000 | cksum"
    expected = subprocess.run(["cksum"], input=b"0123456789" * 2000, capture_output=True, check=True).stdout
    with Typist(*TOKCAP, "--pty", "--", "sh", "-c", script) as typist:
        typist.expect("ready")
        for _ in range(20):
            typist.type("0123456789" * 100)
        typist.expect(expected.decode().strip())
        assert typist.wait() == 0


def test_ctrl_d_ends_the_commands_input():
    with Typist(*TOKCAP, "--pty", "--", "sh", "-c", "echo ready; cat; echo end") as typist:
        typist.expect("ready")
        typist.type("abc\r\x04")
        typist.expect("end")
        assert typist.wait() == 0


def test_ctrl_c_is_handled_by_the_commands_terminal():
    script = (
        "trap 'n=$((n+1)); echo INT $n' INT; n=0; echo ready; while [ $n -lt 4 ]; do sleep 0.05; done; exit 8"
    )
    with Typist(*TOKCAP, "--pty", "--", "sh", "-c", script) as typist:
        typist.expect("ready")
        for times in range(1, 5):
            typist.type("\x03")
            typist.expect(f"INT {times}")
        assert typist.wait() == 8


def test_ctrl_z_stops_both_and_restores_the_terminal_for_the_shell():
    with Typist("bash", "--norc", "--noprofile", "-i") as typist:
        typist.expect("$ ")
        typist.type(f"{shlex.join(TOKCAP)} --pty -- sh -c 'echo begun; read word; echo got $word; exit 5'\n")
        typist.expect("\rbegun")
        for _ in range(2):
            typist.type("\x1a")
            typist.expect("Stopped")
            typist.type("stty -a | grep -o ' icanon'\n")
            typist.expect(" icanon\r")
            typist.type("fg\n")
            typist.expect("--pty")
            typist.forget()
            time.sleep(0.3)
            assert "Stopped" not in typist.read()
        typist.type("hello\r")
        typist.expect("got hello")
        typist.type("echo status $?\n")
        typist.expect("status 5")


def test_a_shell_as_the_command_has_its_own_jobs():
    with Typist(*TOKCAP, "--pty", "--", "bash", "--norc", "--noprofile", "-i") as typist:
        typist.expect("$ ")
        typist.type("sh -c 'echo be''gun; exec sleep 60'\r")
        typist.expect("begun")
        typist.type("\x1a")
        typist.expect("Stopped")
        typist.forget()
        typist.type("fg\r")
        typist.expect("exec sleep 60")
        typist.type("\x03")
        typist.expect("$ ")
        typist.type("exit 3\r")
        assert typist.wait() == 3
        assert "no job control" not in typist.seen


def test_a_signal_reaches_the_command_on_its_terminal():
    with Typist(
        *TOKCAP,
        "--pty",
        "--",
        "sh",
        "-c",
        "trap 'echo TERM; exit 3' TERM; echo ready; while :; do sleep 0.05; done",
    ) as typist:
        typist.expect("ready")
        os.kill(typist.pid, signal.SIGTERM)
        assert typist.wait() == 3
        assert typist.echoes


def test_a_command_that_closes_its_output_before_it_ends_is_not_hung_up(tokcap):
    """`echo` closes its streams before it exits; with no terminal as stdin nobody else held them."""
    for _ in range(4 * times()):
        ran = tokcap("--pty", "--", "echo", "hi")
        assert (ran.status, ran.out) == (0, b"hi\n")


def test_a_pager_is_not_started_without_a_keyboard(tokcap):
    ran = tokcap("--pty", "--", "sh", "-c", "seq 1 200 | ${PAGER:-more}", env={"PAGER": "more"})
    assert (ran.status, ran.out.count(b"\n")) == (0, 200)


def test_keys_reach_the_command_from_a_terminal_that_does_not_control_tokcap():
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*TOKCAP, "-n", "300", "--pty", "--", "sh", "-c", "printf 'name? '; read name; echo got $name"],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    written = b""
    try:
        while b"name? " not in written:
            written += os.read(master, 4096)
        os.write(master, b"bob\n")
        assert process.wait(timeout=30) == 0
        while b"got bob" not in written:
            written += os.read(master, 4096)
    finally:
        process.kill()
        os.close(master)
