"""Running a command: its arguments, its streams, its end."""

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.processes import send
from tests.support.program import PYTHON
from tests.support.reference import recount
from tests.support.tiers import as_nightly, examples, nightly, times

# Those that mean something to tokcap or to a shell, every day; all of them, nightly.
TELLING = (0, 1, 2, 3, 64, 124, 125, 126, 127, 128, 130, 137, 141, 255)


@pytest.mark.parametrize("status", [*TELLING, *map(as_nightly, sorted({*range(256)}.difference(TELLING)))])
def test_the_exit_status_of_the_command_comes_out(inside, status):
    assert inside("--", "sh", "-c", f"exit {status}").status == status


@pytest.mark.parametrize("name", ["TERM", "KILL", "SEGV", "PIPE"])
def test_a_killed_command_exits_128_plus_the_signal(inside, name):
    number = getattr(signal, f"SIG{name}")
    ran = inside("-o", "json", "--", "sh", "-c", f"echo before; kill -{name} $$")
    assert ran.status == 128 + number
    assert ran.json["error"]["code"] == "COMMAND_KILLED"
    assert ran.json["error"]["message"] == f"the command was killed by signal {int(number)} (SIG{name})"
    assert ran.json["meta"]["signal"] == number
    assert ran.json["data"] == ["before\n"]


def test_a_failed_command_keeps_its_output_and_the_end_of_its_stderr(inside):
    ran = inside("-o", "json", "-n", "250", "--", "sh", "-c", "echo result; echo reason >&2; exit 7")
    assert ran.json["data"] == ["result\n"]
    assert ran.json["error"] == {
        "code": "COMMAND_FAILED",
        "message": "the command exited with status 7",
        "detail": "reason\n",
    }
    assert ran.json["meta"]["exit_code"] == 7
    assert ran.json["meta"]["exit_from"] == "command"
    assert ran.err == b"reason\n"


def test_detail_is_the_end_of_stderr_in_whole_lines(inside):
    ran = inside("-o", "json", "--", "sh", "-c", "seq 1000 2000 >&2; exit 1")
    detail = ran.json["error"]["detail"]
    assert detail.endswith("1999\n2000\n")
    assert len(detail) <= 1000
    assert all(len(line) == 4 for line in detail.splitlines())


def test_arguments_reach_the_command_verbatim(inside):
    odd = ["", " ", "a b", "*", "$HOME", "'", '"', "\\", "\n", "-n", "--", "é", "\udcff"]
    ran = inside("--", "printf", r"%s\0", *odd)
    assert ran.out == b"".join(os.fsencode(word) + b"\0" for word in odd)


def test_the_command_inherits_stdin_directory_and_environment(tokcap, tmp_path):
    ran = tokcap(
        "-n",
        "500",
        "--",
        "sh",
        "-c",
        "cat; pwd; echo $COLOUR",
        stdin=b"given\n",
        cwd=tmp_path,
        env={"COLOUR": "red"},
    )
    assert ran.out == b"given\n%s\nred\n" % os.fsencode(tmp_path)


def test_a_command_that_is_not_found_exits_127(inside):
    ran = inside("-o", "json", "--", "no-such-command-here")
    assert (ran.status, ran.json["error"]["code"]) == (127, "COMMAND_NOT_FOUND")
    assert ran.json["meta"]["exit_from"] == "tokcap"
    assert ran.err == b"tokcap: no-such-command-here: command not found\n"
    assert inside("--", "").status == 127
    assert inside("--", "/no/such/path").status == 127


def test_a_command_that_cannot_be_executed_exits_126(inside, tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("text\n")
    ran = inside("-o", "json", "--", str(notes))
    assert (ran.status, ran.json["error"]["code"]) == (126, "COMMAND_NOT_EXECUTABLE")
    assert inside("--", str(tmp_path)).status == 126


def test_a_script_whose_interpreter_is_missing_says_so(inside, tmp_path):
    script = executable(tmp_path / "script", "#!/no/such/interpreter\n")
    ran = inside("--", script)
    assert ran.status == 126
    assert b"its interpreter was not found" in ran.err


def executable(path, text: str) -> str:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_a_script_without_an_interpreter_line_runs_as_under_a_shell(inside, tokcap, tmp_path):
    script = executable(tmp_path / "plain", 'echo "$0 got $1 and $2"\nexit 9\n')
    ran = inside("--", script, "a b", "c")
    assert (ran.status, ran.out) == (9, f"{script} got a b and c\n".encode())
    # Found on the PATH, too.
    ran = tokcap("--", "plain", "x", "y", env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert (ran.status, ran.out) == (9, f"{script} got x and y\n".encode())


def test_a_megabyte_on_each_stream_interleaved_does_not_block(inside):
    script = (
        "i=0; while [ $i -lt 128 ]; do head -c 8192 /dev/zero; head -c 8192 /dev/zero >&2; i=$((i+1)); done"
    )
    ran = inside("--", "sh", "-c", script)
    assert (len(ran.out), len(ran.err)) == (1 << 20, 1 << 20)
    ran = inside("-n", "200", "-o", "json", "--exact-total", "--", "sh", "-c", script)
    assert ran.json["meta"]["total_tokens"] == recount(b"\0" * (1 << 20))


def test_the_command_runs_to_its_end_whatever_the_limit(inside, tmp_path):
    proof = tmp_path / "proof"
    ran = inside("-n", "10", "--", "sh", "-c", f"seq 200000; touch {proof}; exit 3")
    assert ran.status == 3
    assert proof.exists()


def test_a_flood_on_stdout_never_hides_the_error(inside):
    ran = inside("-n", "100", "--", "sh", "-c", "seq 5000; echo it broke >&2; exit 1")
    assert ran.err == b"it broke\n"
    assert recount(ran.out) + recount(ran.err) <= 100
    assert recount(ran.out + ran.err) <= 100


def test_a_flood_on_stderr_leaves_stdout_its_part_and_keeps_both_ends(inside):
    ran = inside("-n", "200", "--", "sh", "-c", "seq 1000; seq 5000 9000 >&2")
    lines = ran.err.splitlines()
    assert (lines[0], lines[-1]) == (b"5000", b"9000")
    assert any(re.match(rb"\[TRUNCATED\] stderr \d+/\d+ tokens; ", line) for line in lines)
    assert recount(ran.err) <= 50
    assert recount(ran.out) + recount(ran.err) <= 200
    assert recount(ran.out + ran.err) <= 200


def test_the_end_of_a_long_stderr_is_the_error_and_is_shown(inside):
    fatal = "fatal: could not open /var/lib/thing/config.yaml: permission denied"
    ran = inside("-n", "240", "--", "sh", "-c", f"seq 1000; seq 100 >&2; echo '{fatal}' >&2; exit 1")
    assert ran.err.endswith(fatal.encode() + b"\n")
    assert ran.err.startswith(b"1\n")


@examples(25)
@given(
    out=st.text("ab'/ \n1é", max_size=60),
    err=st.text("ab'/ \n1é", max_size=60),
    limit=st.integers(1, 40),
    output=st.sampled_from(["text", "json", "jsonl"]),
)
def test_one_limit_covers_both_streams_apart_and_joined(inside, out, err, limit, output):
    limit += 0 if output == "text" else 130
    ran = inside(
        "-n", str(limit), "-o", output, "--", "sh", "-c", 'printf %s "$1"; printf %s "$2" >&2', "_", out, err
    )
    assert max(recount(ran.out + ran.err), recount(ran.err + ran.out)) <= limit
    assert recount(ran.out) + recount(ran.err) <= limit


def test_stderr_gets_all_room_that_stdout_leaves(inside):
    ran = inside("-n", "300", "--", "sh", "-c", "echo short; seq 1 100 >&2")
    assert ran.out == b"short\n"
    assert len(ran.err.splitlines()) == 100


def test_merged_streams_keep_their_order(inside):
    ran = inside("--stderr", "merge", "-n", "100", "--", "sh", "-c", "echo 1; echo 2 >&2; echo 3")
    assert (ran.out, ran.err) == (b"1\n2\n3\n", b"")


def test_stderr_can_be_passed_uncounted_or_dropped(tokcap):
    script = "seq 100 >&2; echo out"
    ran = tokcap("--stderr", "pass", "-n", "5", "--", "sh", "-c", script)
    assert (ran.out, len(ran.err.splitlines())) == (b"out\n", 100)
    ran = tokcap("--stderr", "drop", "-n", "5", "--", "sh", "-c", script)
    assert (ran.out, ran.err) == (b"out\n", b"")


def test_a_grandchild_that_keeps_the_pipe_does_not_hold_tokcap(tokcap):
    ran = tokcap("-n", "50", "--", "sh", "-c", "sleep 600 & echo $!")
    # It still runs, so tokcap did not wait for it.
    os.kill(int(ran.out), signal.SIGKILL)
    assert ran.status == 0
    assert b"still has the output open" in ran.err


@pytest.mark.parametrize("args", [[], ["-n", "50"]])
def test_what_a_grandchild_writes_shortly_after_the_command_is_shown(inside, args):
    ran = inside(*args, "--", "sh", "-c", "(sleep 0.1; echo late) & echo hi")
    assert (ran.out, ran.err) == (b"hi\nlate\n", b"")


def test_a_grandchild_that_keeps_the_pipe_is_noted(inside):
    ran = inside("-n", "200", "-o", "json", "--", "sh", "-c", "sleep 600 & echo $!")
    os.kill(int(ran.json["data"][0]), signal.SIGKILL)
    assert [warning["code"] for warning in ran.json["warnings"]] == ["OUTPUT_OPEN"]
    # A signal ends only the command: nothing is said of what it leaves behind.
    ran = inside("-n", "50", "--", "sh", "-c", "sleep 600 & echo $!; kill $$")
    os.kill(int(ran.out), signal.SIGKILL)
    assert (ran.status, ran.err) == (143, b"")
    ran = inside("-o", "json", "--", "sh", "-c", "sleep 600 >&- 2>&- & echo $!")
    os.kill(int(ran.json["data"][0]), signal.SIGKILL)
    assert ran.json["warnings"] == []


def test_the_last_bytes_of_a_command_that_exits_at_once_are_never_lost(inside):
    for _ in range(15 * times()):
        assert inside("--", "printf", "Bingo").out == b"Bingo"


def test_a_command_that_closes_its_streams_early_is_waited_for(inside):
    assert inside("--", "sh", "-c", "exec >&- 2>&-; sleep 0.2; exit 5").status == 5


def test_a_reader_that_goes_away_closes_stdout_only():
    script = "trap '' PIPE; seq 1000000 2>/dev/null; echo important >&2; exit 3"
    done = subprocess.run(
        [
            "bash",
            "-c",
            f'{PYTHON} -m tokcap -- sh -c "$1" | head -n 1; exit ${{PIPESTATUS[0]}}',
            "_",
            script,
        ],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == (b"1\n", b"important\n", 3)


@pytest.mark.skipif(sys.platform != "linux", reason="the size of a pipe can be set on Linux only")
def test_a_slow_reader_gets_all_that_was_in_the_pipe_when_the_command_ended():
    big = "import fcntl, os; fcntl.fcntl(1, 1031, 1 << 20); os.write(1, b'x' * (1 << 20))"
    slow = (
        "import os, time\nn = 0\nwhile True:\n time.sleep(0.05)\n block = os.read(0, 65536)\n"
        " if not block: break\n n += len(block)\nprint(n)"
    )
    done = subprocess.run(
        ["sh", "-c", '"$0" -m tokcap -- "$0" -c "$1" | "$0" -c "$2"', sys.executable, big, slow],
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"%d\n" % (1 << 20), b"")


def test_a_small_limit_does_not_hide_the_error_without_a_word(inside):
    for limit in ("2", "3"):
        assert inside("-n", limit, "--", "sh", "-c", "seq 100; echo fatal >&2").err


def test_json_says_that_stderr_was_cut(inside):
    ran = inside("-n", "400", "-o", "json", "--", "sh", "-c", "seq 1000; seq 1000 >&2")
    (warning,) = ran.json["warnings"]
    assert warning["code"] == "STDERR_TRUNCATED"
    assert re.match(r"stderr \d+/\d+ tokens; ", warning["message"])


def test_two_ends_are_never_spliced_without_a_mark_between_them(inside):
    text = b"do not under any circumstances delete this file\n"
    assert inside("-n", "4", "--keep", "ends", stdin=text).out == b"do not under any"
    assert inside("-n", "1", "--keep", "ends", "--sentinel", "", stdin=text).out == b"do"
    ran = inside("-n", "12", "--", "sh", "-c", "seq 100; echo fatal: the disk is on fire in room nine >&2")
    assert ran.err == b" room nine\n"


@pytest.mark.parametrize("interrupts", [1, 2])
def test_while_tokcap_counts_the_first_interrupt_is_ignored_and_the_second_ends_it(interrupts):
    # Counting has to last until the second one is sent, also on a busy machine.
    amount = 1_500_000 if interrupts == 1 else 6_000_000
    command = ["sh", "-c", f"seq 0 {amount}; echo done >&2; exit 3"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tokcap", "-n", "20", "--exact-total", "--", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    # The command has ended when nobody is left to be waited for; what remains is counting.
    children = f"/proc/{process.pid}/task/{process.pid}/children"
    if not os.path.exists(children):
        pytest.skip("this system does not tell the children of a process")
    seen = False
    while process.poll() is None:
        with open(children) as file:
            running = bool(file.read().strip())
        if seen and not running:
            break
        seen = seen or running
        time.sleep(0.01)
    for _ in range(interrupts):
        send(process.pid, signal.SIGINT)
        # Two that arrive during one call of compiled code count as one.
        time.sleep(0.1)
    out, err = process.communicate(timeout=60)
    if interrupts == 1:
        assert process.returncode == 3
        assert out.startswith(b"0\n1\n")
        assert err == b"done\n"
    else:
        assert (process.returncode, out, err) == (130, b"", b"")


def test_a_nameless_variable_does_not_keep_a_command_from_running(tmp_path):
    done = subprocess.run(
        [
            "env",
            "-i",
            "=x",
            "TOKCAP_ACCOUNT=off",
            f"HOME={tmp_path}",
            sys.executable,
            "-m",
            "tokcap",
            "--",
            "/bin/echo",
            "hi",
        ],
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"hi\n")


def test_clean_shows_what_a_terminal_would_finally_show(inside):
    script = (
        r"printf '\033[31mred\033[0m  \n\n\n\n10%%\r50%%\r100%%\nplain\n'; printf 'e\033[1mrr\033[0m\n' >&2"
    )
    ran = inside("--clean", "-n", "500", "--", "sh", "-c", script)
    assert (ran.out, ran.err) == (b"red\n\n100%\nplain\n", b"err\n")


def test_clean_comes_before_redact(inside):
    token = b"ghp_" + b"A1b2" * 4 + b"\x1b[1m" + b"A1b2" * 5
    assert inside("--clean", "--redact", stdin=token + b"\n").out == b"ghp_[REDACTED]\n"


def test_standard_input_can_time_out_too():
    read, write = os.pipe()
    os.write(write, b"early\n")
    command = [sys.executable, "-m", "tokcap", "--timeout", "1s"]
    done = subprocess.run(command, stdin=read, capture_output=True, timeout=60, check=False)
    os.close(write)
    os.close(read)
    assert (done.stdout, done.returncode) == (b"early\n", 124)


@pytest.mark.parametrize(
    ("reader", "args"),
    [
        ("true", "-n 100"),
        ("true", "-n 200 -o json"),
        ("true", "-n 100 --keep tail"),
        ("true", "--token-count"),
        ("sleep 0.3", "-n 100"),
        pytest.param("true", "--mode summary", marks=nightly),
        pytest.param("sleep 0.3", "-n 200 -o json", marks=nightly),
        pytest.param("sleep 0.3", "-n 100 --keep tail", marks=nightly),
        pytest.param("sleep 0.3", "--token-count", marks=nightly),
        pytest.param("sleep 0.3", "--mode summary", marks=nightly),
    ],
)
def test_a_reader_that_goes_away_ends_a_command_that_would_write_forever(args, reader):
    """Also if the window is full, so that nothing more is written to the reader."""
    script = f"{sys.executable} -m tokcap {args} -- sh -c 'yes; exit 3' | {reader}; echo ${{PIPESTATUS[@]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == (b"3 0\n", b"")


def test_the_first_line_is_enough_for_a_reader_of_endless_output():
    script = f"{sys.executable} -m tokcap -n 100 yes | head -1; echo ${{PIPESTATUS[@]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == (b"y\n141 0\n", b"")


@pytest.mark.parametrize("args", ["-n 100", *map(as_nightly, ("-n 200 -o json", "--token-count"))])
def test_a_reader_that_goes_away_ends_reading_standard_input(args):
    script = f"yes | {sys.executable} -m tokcap {args} | (sleep 0.3); echo ${{PIPESTATUS[@]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == (b"141 141 0\n", b"")


def test_a_socket_whose_reader_goes_away_ends_the_command():
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "tokcap", "-n", "100", "--", "yes"], stdout=theirs, stderr=subprocess.PIPE
        )
    # Only one direction is closed: it still reads.
    ours.shutdown(socket.SHUT_WR)
    assert ours.recv(2) == b"y\n"
    ours.close()
    assert process.communicate(timeout=60) == (None, b"")
    assert process.returncode == 141
