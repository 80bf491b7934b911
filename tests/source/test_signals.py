"""Signals that reach tokcap reach the command once, and the answer is still written."""

import os
import shlex
import signal
import subprocess
import sys
import time

import pytest

from tests.support.processes import (
    children_of,
    command_line,
    send,
    state_of,
    wait_for,
    wait_until_taken,
)
from tests.support.program import PYTHON, ROOT
from tests.support.reference import recount
from tests.support.terminal import Typist
from tests.support.tiers import as_nightly
from tokcap.source.process import Process, Termination
from tokcap.source.signals import SignalWatch

TOKCAP = [sys.executable, "-m", "tokcap"]

# Prints each signal that it gets; ends on TERM.
LISTENER = """
import os, signal, sys, time
def tell(number, frame):
    os.write(1, f"got {signal.Signals(number).name}\\n".encode())
    if number == signal.SIGTERM:
        sys.exit(7)
for name in sys.argv[1:]:
    signal.signal(getattr(signal, name), tell)
os.write(1, b"ready\\n")
while True:
    time.sleep(0.05)
"""


@pytest.fixture
def started():
    """Start tokcap, and end it after the test."""
    running = []

    def start(*args, **options) -> subprocess.Popen:
        process = subprocess.Popen(
            [*TOKCAP, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, **options
        )
        running.append(process)
        return process

    yield start
    for process in running:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def line(process) -> bytes:
    return process.stdout.readline()


def test_a_signal_sent_to_tokcap_reaches_the_command_once(started):
    names = ("SIGUSR1", "SIGUSR2", "SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM")
    process = started("--", sys.executable, "-c", LISTENER, *names)
    assert line(process) == b"ready\n"
    for name in names:
        process.send_signal(getattr(signal, name))
        # A second copy of the one before would come first.
        assert line(process) == f"got {name}\n".encode()
    assert process.stdout.read() == b""
    assert process.wait(60) == 7


@pytest.mark.parametrize(
    "name", ["SIGTERM", "SIGINT", *map(as_nightly, ("SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"))]
)
def test_a_command_that_dies_of_a_forwarded_signal_leaves_its_window_and_128_plus_n(started, name):
    process = started("-n", "20", "--", "sh", "-c", "seq 1000; echo ready >&2; exec sleep 60")
    wait_for(lambda: command_line(children_of(process.pid)[0]).startswith(b"sleep"))
    process.send_signal(getattr(signal, name))
    out, err = process.communicate(timeout=60)
    assert out.startswith(b"1\n2\n")
    assert b"[TRUNCATED]" in out
    assert err == b"ready\n"
    assert process.returncode == 128 + getattr(signal, name)


@pytest.mark.parametrize(
    "ignored", ["INT QUIT HUP", "TERM USR1 CHLD", "", *map(as_nightly, ("INT", "CHLD", "USR2", "TSTP TTOU"))]
)
def test_ignored_signals_and_the_mask_reach_the_command_unchanged(ignored):
    trap = f"trap '' {ignored}; " if ignored else ""
    look = "grep -E '^Sig(Blk|Ign)' /proc/self/status"
    plain = subprocess.check_output(["bash", "-c", f"{trap}{look}"], timeout=60)
    capped = subprocess.check_output(
        ["bash", "-c", f"{trap}{shlex.join(TOKCAP)} -- {look}"], timeout=60, cwd=ROOT
    )
    assert capped == plain


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what another process ignores")
@pytest.mark.parametrize("shell", ["sh", as_nightly("bash")])
def test_what_python_ignores_is_ignored_in_the_command_if_the_calling_shell_ignores_it(shell):
    look = "grep SigIgn /proc/self/status"
    for trap in ("", "trap '' PIPE; ", "trap '' XFSZ PIPE INT; "):
        # After the last command there is another one: otherwise the shell would become tokcap.
        plain = subprocess.check_output([shell, "-c", f"{trap}{look}; :"], timeout=60)
        capped = subprocess.check_output(
            [shell, "-c", f"{trap}{' '.join(TOKCAP)} -- {look}; :"], timeout=60, cwd=ROOT
        )
        assert capped == plain


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what another process ignores")
@pytest.mark.parametrize("between", ["", "timeout 50 "])
def test_a_script_that_ignores_sigpipe_is_a_shell_under_another_name(between, tmp_path):
    script = tmp_path / "deploy"
    script.write_text(
        f"#!/bin/sh\ntrap '' PIPE\n{between}{shlex.join(TOKCAP)} -- grep SigIgn /proc/self/status\n:\n"
    )
    script.chmod(0o755)
    seen = subprocess.check_output([script], timeout=60, cwd=ROOT)
    assert int(seen.split()[1], 16) >> (signal.SIGPIPE - 1) & 1


def test_a_signal_that_only_python_ignores_is_not_ignored_in_the_command():
    """This process ignores SIGPIPE, as every Python program does, and starts tokcap without that."""
    look = "grep SigIgn /proc/self/status"
    done = subprocess.run([*TOKCAP, "--", *look.split()], capture_output=True, cwd=ROOT, check=True)
    assert not int(done.stdout.split()[1], 16) >> (signal.SIGPIPE - 1) & 1


def test_blocked_signals_are_blocked_in_the_command_too(started):
    masked = {signal.SIGUSR1, signal.SIGTERM, signal.SIGCHLD}
    process = started(
        "--",
        "grep",
        "SigBlk",
        "/proc/self/status",
        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, masked),
    )
    bits = int(process.communicate(timeout=60)[0].split()[1], 16)
    assert bits == sum(1 << (number - 1) for number in masked)


def test_the_exit_status_is_not_lost_where_sigchld_is_ignored():
    done = subprocess.run(["bash", "-c", f"trap '' CHLD; {shlex.join(TOKCAP)} -- sh -c 'exit 3'"], cwd=ROOT)
    assert done.returncode == 3


def test_stop_and_continue_reach_both(started):
    # In a session with a shell of sorts: this process, whose group is another one.
    process = started("--", "sleep", "60", process_group=0)
    (child,) = children_of(process.pid)
    process.send_signal(signal.SIGTSTP)
    wait_for(lambda: state_of(process.pid) == "T" and state_of(child) == "T")
    process.send_signal(signal.SIGCONT)
    wait_for(lambda: state_of(process.pid) in "RS" and state_of(child) in "RS")
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + 15


def test_signals_do_not_leak_into_a_program_that_calls_tokcap(inside):
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert inside("--", "true").status == 0
    assert inside("--", "no-such-command-here").status == 127
    assert {number: signal.getsignal(number) for number in signal.valid_signals()} == before
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == mask


def test_a_handler_of_the_calling_program_is_left_alone(inside):
    heard = []
    before = signal.signal(signal.SIGUSR1, lambda number, _frame: heard.append(number))
    try:
        assert inside("--", "sh", "-c", f"kill -USR1 {os.getpid()}").status == 0
        wait_for(lambda: heard)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_command_runs_in_any_thread(inside):
    from threading import Thread

    ran = []
    thread = Thread(target=lambda: ran.append(inside("--timeout", "30", "--", "echo", "hi")))
    thread.start()
    thread.join()
    assert ran[0].out == b"hi\n"


# On a terminal.


def test_ctrl_c_reaches_the_command_once_and_its_end_is_waited_for():
    script = f"exec {shlex.join(TOKCAP)} -- {PYTHON} -c '{LISTENER}' SIGINT SIGTERM"
    with Typist("bash", "-c", script) as typist:
        typist.expect("ready")
        typist.type("\x03")
        typist.expect("got SIGINT")
        time.sleep(0.2)
        assert typist.seen.count("got SIGINT") == 1
        assert "TERM" not in typist.seen
        # The second one ends it: it gets that interrupt as well, and then TERM.
        typist.type("\x03")
        typist.expect("got SIGTERM")
        assert typist.wait() == 7
        assert typist.seen.count("got SIGTERM") == 1


def test_an_interrupt_sent_to_tokcap_alone_is_forwarded_even_on_a_terminal():
    with Typist(*TOKCAP, "--", sys.executable, "-c", LISTENER, "SIGINT", "SIGTERM") as typist:
        typist.expect("ready")
        for times in (1, 2, 3):
            os.kill(typist.pid, signal.SIGINT)
            wait_for(lambda times=times: typist.read().count("got SIGINT") == times)
        os.kill(typist.pid, signal.SIGTERM)
        assert typist.wait() == 7


def test_a_third_ctrl_c_kills_a_command_that_does_not_end():
    script = "trap '' INT TERM; echo ready; while :; do sleep 0.1; done"
    with Typist(*TOKCAP, "--kill-after", "1h", "--", "sh", "-c", script) as typist:
        typist.expect("ready")
        for _ in range(3):
            typist.type("\x03")
            # The terminal sends it a little later, and a second one would be merged with a pending one.
            time.sleep(0.3)
            wait_until_taken(typist.pid, signal.SIGINT)
        assert typist.wait() == 128 + 9


def test_ctrl_z_and_fg_in_a_real_shell():
    with Typist("bash", "--norc", "--noprofile", "-i") as typist:
        typist.expect("$ ")
        typist.type(f"{shlex.join(TOKCAP)} -- sh -c 'echo begun; read word; echo got $word; exit 5'\n")
        typist.expect("\rbegun")
        for _ in range(2):
            typist.type("\x1a")
            typist.expect("Stopped")
            typist.type("fg\n")
            typist.expect("read word")
            typist.forget()
            # Stopped once more, the shell would have said so by now.
            time.sleep(0.3)
            assert "Stopped" not in typist.read()
        typist.type("hello\n")
        typist.expect("got hello")
        typist.type("echo status $?\n")
        typist.expect("status 5")


def test_a_command_that_stops_itself_returns_to_the_shell():
    with Typist("bash", "--norc", "--noprofile", "-i") as typist:
        typist.expect("$ ")
        typist.type(f"{shlex.join(TOKCAP)} -- sh -c 'kill -STOP $$; echo on again; exit 4'\n")
        typist.expect("Stopped")
        typist.type("fg\n")
        typist.expect("on again\r\n")
        typist.type("echo status $?\n")
        typist.expect("status 4")


def test_a_hangup_of_the_terminal_reaches_the_command(tmp_path):
    proof = tmp_path / "proof"
    ready = tmp_path / "ready"
    script = f"trap 'echo HUP >> {proof}; exit' HUP; touch {ready}; while :; do sleep 0.05; done"
    with Typist(*TOKCAP, "-n", "50", "--", "sh", "-c", f"trap '' PIPE; {script}") as typist:
        wait_for(ready.exists)
        typist.hang_up()
        wait_for(proof.exists)
    assert proof.read_text() == "HUP\n"


def test_a_background_job_that_reads_the_keyboard_stops_and_continues_in_the_foreground():
    with Typist("bash", "--norc", "--noprofile", "-i") as typist:
        typist.expect("$ ")
        typist.type(f"{shlex.join(TOKCAP)} -- sh -c 'read word; echo got $word' &\n")

        def told() -> bool:
            typist.type("\n")
            return "Stopped" in typist.read()

        wait_for(told)
        typist.forget()
        typist.type("fg\n")
        typist.expect("read word")
        typist.type("hello\n")
        typist.expect("got hello")


# How a command is ended.


@pytest.mark.parametrize("script", ["sleep 60", "sleep 60; echo never", "sleep 60 & sleep 61 & wait"])
def test_a_timeout_ends_the_command_and_its_descendants(tokcap, script):
    ran = tokcap("--timeout", "1s", "-o", "json", "--", "sh", "-c", f"echo $$; {script}")
    assert ran.status == 124
    assert ran.json["error"]["code"] == "TIMEOUT"
    assert ran.json["meta"]["exit_from"] == "tokcap"
    group = int(ran.json["data"][0])
    assert not state_of(group)


def test_a_timeout_ends_grandchildren_but_no_other_process(tmp_path):
    pids = tmp_path / "pids"
    inner = f"sleep 61 & echo $! >> {pids}; (sleep 62 & echo $! >> {pids}; wait) & echo $! >> {pids}; wait"
    outer = (
        f"sleep 63 > /dev/null 2>&1 & echo $!; {shlex.join(TOKCAP)} --timeout 1s -- sh -c '{inner}'; echo $?"
    )
    done = subprocess.run(["sh", "-c", outer], capture_output=True, text=True, cwd=ROOT, timeout=60)
    neighbour, status = map(int, done.stdout.split())
    assert status == 124
    assert state_of(neighbour) == "S"
    os.kill(neighbour, signal.SIGKILL)
    for pid in map(int, pids.read_text().split()):
        wait_for(lambda pid=pid: state_of(pid) in ("", "Z"))


def test_a_command_that_ignores_term_is_killed_later(tokcap):
    # The command never ends by itself.
    script = "trap '' TERM; echo first; while :; do sleep 0.1; done"
    ran = tokcap("--timeout", "200ms", "--kill-after", "500ms", "--", "sh", "-c", script)
    assert (ran.status, ran.out) == (124, b"first\n")


@pytest.mark.parametrize("args", [["-n", "60"], *map(as_nightly, ([], ["--token-count"]))])
def test_a_timeout_is_reported_in_text_form_and_inside_the_limit(tokcap, args):
    ran = tokcap(*args, "--timeout", "300ms", "--", "sh", "-c", "seq 100; sleep 60")
    assert ran.status == 124
    assert ran.err.count(b"\n") == 1
    assert b"timeout" in ran.err or b"timed out" in ran.err
    if "-n" in args:
        assert recount(ran.out + ran.err) <= 60
    args = ["-n", "200"] if "-n" in args else args
    envelope = tokcap(*args, "--timeout", "300ms", "-o", "json", "--", "sleep", "60").json
    assert (envelope["error"]["code"], envelope["warnings"]) == ("TIMEOUT", [])


def test_a_timeout_works_while_the_reader_does_not_read(started):
    process = started("--timeout", "1s", "--", "yes")
    (child,) = children_of(process.pid)
    wait_for(lambda: state_of(child) in ("", "Z"))
    process.stdout.close()
    assert process.wait(60) == 124


def test_a_stopped_command_ends_at_its_timeout_too(started):
    process = started("--timeout", "1s", "--", "sh", "-c", "kill -STOP $$")
    assert process.wait(60) == 124


def own_children() -> list[int]:
    with open(f"/proc/{os.getpid()}/task/{os.getpid()}/children") as file:
        return [int(word) for word in file.read().split()]


def test_a_command_does_not_outlive_a_call_that_failed():
    from tokcap.environment import Environment
    from tokcap.source.command import Command

    # Servers of other tests may be children too.
    before = set(own_children())
    command = Command(["sleep", "60"], "separate", Environment(os.environ))
    started = set(own_children()) - before
    command.close()
    assert len(started) == 1
    assert not any(map(state_of, started))


def test_a_second_signal_ends_tokcap_itself_when_nobody_reads_its_answer(started):
    # The most that a pipe holds is full, a block is in tokcap's hands, and the rest in the other pipe.
    process = started("--", sys.executable, "-c", "print('x' * 150000)")
    children_of(process.pid)
    wait_for(lambda: not child_states(process.pid))
    send(process.pid, signal.SIGTERM)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + 15


def child_states(pid: int) -> str:
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return "".join(state_of(int(word)) for word in file.read().split()).replace("Z", "")


def test_a_reader_that_goes_away_is_noticed_before_the_next_write():
    # `tail -f` looks whether its reader is there. Without a write of its own it would never end.
    script = f"{shlex.join(TOKCAP)} -- tail -f /dev/null | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, timeout=60, capture_output=True)
    assert (done.returncode, done.stderr) == (128 + 13, b"")


def test_a_signal_that_arrives_at_the_very_end_of_the_command_counts():
    class Watch(SignalWatch):
        def _next(self, seconds):
            # The main thread has just seen the end of the command.
            self._finished = True
            return signal.SIGINT, False

    watch = Watch(hold=False)
    with subprocess.Popen(["true"]) as child:
        process = Process(child.pid)
        process.wait()
        child.returncode = 0
        watch.begin(process, Termination(process, None, 1))
        watch.finish()
        # It was the first; the second ends tokcap.
        assert watch._forwarding.handle(signal.SIGINT, from_terminal=False)
        process.close()
