"""What a command has written is shown before it waits for input, within the limit."""

import json
import os
import pty
import select
import signal
import subprocess
import sys

import pytest

from tests.support.interactive import TAKE_TERMINAL
from tests.support.reference import recount
from tests.support.shells import install_programs
from tests.support.tiers import as_nightly
from tokcap.source.waiting import waits_for_input

PATIENCE_SECONDS = 60


def read_until(descriptor: int, awaited: bytes) -> bytes:
    """Read until something has arrived; fail if it does not."""
    seen = b""
    while awaited not in seen:
        assert select.select([descriptor], [], [], PATIENCE_SECONDS)[0], f"no {awaited!r} in {seen!r}"
        seen += os.read(descriptor, 1 << 16)
    return seen


def start(*args: str, **streams) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-m", "tokcap", *args], **streams)


def on_pipes(*args: str) -> subprocess.Popen:
    return start(*args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.parametrize(
    ("prompt", "limit"),
    [("name? ", "80"), ("[y/N] ", "4000"), ("{", "80"), ("12", "4000"), ("a,b", "80"), ("true", "60")],
)
def test_a_prompt_is_shown_before_the_answer_is_given(prompt, limit):
    process = on_pipes(
        "-n", limit, "--", "sh", "-c", 'printf "%s" "$0"; read answer; echo "<$answer>"', prompt
    )
    shown = read_until(process.stdout.fileno(), prompt.encode())
    out, err = process.communicate(b"yes\n", timeout=PATIENCE_SECONDS)
    assert (shown + out, err) == (prompt.encode() + b"<yes>\n", b"")


@pytest.mark.parametrize(
    ("prompt", "limit", "keep"),
    [("name? ", "80", "tail"), ("[y/N] ", "4000", "ends"), ("{", "80", "focus"), ("a,b", "4000", "auto")],
)
def test_a_prompt_is_shown_though_other_parts_matter_more(prompt, limit, keep):
    script = 'printf "%s" "$0"; read answer; echo "<$answer>"'
    process = on_pipes("-n", limit, "--keep", keep, "--", "sh", "-c", script, prompt)
    shown = read_until(process.stdout.fileno(), prompt.encode())
    out, err = process.communicate(b"yes\n", timeout=PATIENCE_SECONDS)
    assert (shown + out, err) == (prompt.encode() + b"<yes>\n", b"")


@pytest.mark.parametrize(("keep", "limit"), [("tail", 80), ("ends", 1000), ("focus", 300), ("auto", 300)])
def test_the_answer_goes_on_after_the_prompt(keep, limit, with_store):
    script = 'printf "[y/N] "; read answer; seq 4000; echo "error: no disk"; seq 4001 9000; exit 1'
    process = on_pipes("-n", str(limit), "--keep", keep, "--", "sh", "-c", script)
    shown = read_until(process.stdout.fileno(), b"[y/N] ")
    out, err = process.communicate(b"yes\n", timeout=PATIENCE_SECONDS)
    assert shown == b"[y/N] "
    assert recount(shown + out + err) <= limit
    assert out.startswith(b"1\n")
    assert b"\n9000\n" in out
    assert b"; tokcap show " in out
    if keep in ("focus", "auto") and limit >= 300:
        assert b"\nerror: no disk\n" in out
    if keep == "tail":
        # Nothing of the beginning but the line with the prompt.
        assert out.startswith(b"1\n[TRUNCATED]")


@pytest.mark.parametrize("prompt", ["[y/N] ", *map(as_nightly, ("name? ", "{"))])
def test_a_prompt_is_shown_by_a_shell_for_agents(prompt, tmp_path):
    shell = str(install_programs(tmp_path / "programs") / "tokcap-bash")
    words = [shell, "-c", 'printf "%s" "$0"; read answer; echo "<$answer>"', prompt]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(words, **pipes)
    shown = read_until(process.stdout.fileno(), prompt.encode())
    out, err = process.communicate(b"yes\n", timeout=PATIENCE_SECONDS)
    assert (shown + out, err) == (prompt.encode() + b"<yes>\n", b"")


def test_a_prompt_is_paid_for_if_tokcap_is_killed(with_store):
    call = [sys.executable, "-m", "tokcap"]
    subprocess.run([*call, "budget", "start", "s", "--total", "1000"], check=True, capture_output=True)
    process = on_pipes("--session", "s", "--keep", "auto", "--", "sh", "-c", 'printf "name? "; read n')
    read_until(process.stdout.fileno(), b"name? ")
    process.kill()
    process.communicate(timeout=PATIENCE_SECONDS)
    status = subprocess.run([*call, "budget", "status", "s", "-o", "json"], check=True, capture_output=True)
    assert json.loads(status.stdout)["data"]["used"] >= recount(b"name? ")


@pytest.mark.parametrize("args", [["-o", "json"], ["-o", "jsonl"], ["--shape", "json"], ["--fields", "a"]])
def test_a_prompt_on_stderr_is_shown_though_stdout_is_data(args):
    script = 'printf "[y/N] " >&2; read answer; echo "{\\"a\\": \\"$answer\\"}"; echo end >&2'
    process = on_pipes("-n", "300", *args, "--", "sh", "-c", script)
    shown = read_until(process.stderr.fileno(), b"[y/N] ")
    out, err = process.communicate(b"yes\n", timeout=PATIENCE_SECONDS)
    assert shown + err == b"[y/N] end\n"
    documents = [json.loads(line) for line in out.splitlines()]
    assert {"a": "yes"} in (documents[0], documents[0].get("data"))


BANNER = """Python 3.11.7 (main, May  9 2026, 07:35:25) [GCC 12.2.0] on linux
Type "help", "copyright", "credits" or "license" for more information.
>>> """


@pytest.mark.parametrize("keep", ["head", "tail", "ends", "auto"])
def test_a_banner_with_a_prompt_on_stderr_is_shown_and_the_cap_holds_after_it(keep):
    script = 'printf "%s" "$0" >&2; read answer; seq 1 2000; seq 1 2000 >&2'
    process = on_pipes("-n", "200", "--keep", keep, "--", "sh", "-c", script, BANNER)
    shown = read_until(process.stderr.fileno(), b">>> ")
    out, err = process.communicate(b"yes\n", timeout=PATIENCE_SECONDS)
    assert (shown + err).startswith(BANNER.encode())
    assert max(recount(out + shown + err), recount(shown + out + err), recount(shown + err + out)) <= 200


def test_a_prompt_on_stdout_is_never_put_into_an_envelope_or_a_declared_document():
    script = 'printf "[y/N] "; read answer; echo "<$answer>"'
    processes = [
        on_pipes("-n", "300", *args, "--", "sh", "-c", script)
        for args in (["-o", "json"], ["--shape", "json"])
    ]
    streams = [stream for process in processes for stream in (process.stdout, process.stderr)]
    assert not select.select(streams, [], [], 1)[0]
    for process in processes:
        out, _ = process.communicate(b"yes\n", timeout=PATIENCE_SECONDS)
        assert b"[y/N] <yes>" in out


def test_every_prompt_of_a_dialog_is_shown():
    script = 'for q in "[1] " "{2} " "three? "; do printf "%s" "$q"; read answer; done; echo end'
    process = on_pipes("-n", "200", "--", "sh", "-c", script)
    for prompt in (b"[1] ", b"{2} ", b"three? "):
        assert read_until(process.stdout.fileno(), prompt) == prompt
        process.stdin.write(b"yes\n")
        process.stdin.flush()
    assert process.communicate(timeout=PATIENCE_SECONDS) == (b"end\n", b"")


WAYS_TO_WAIT = {
    "read": "sys.stdin.readline()",
    "poll": "p = select.poll(); p.register(0, select.POLLIN); p.poll(); sys.stdin.readline()",
    "select": "select.select([0], [], []); sys.stdin.readline()",
    "epoll": "p = select.epoll(); p.register(0, select.EPOLLIN); p.poll(); sys.stdin.readline()",
    "thread": "t = threading.Thread(target=sys.stdin.readline); t.start(); t.join()",
    "child": "subprocess.run(['sh', '-c', 'read answer'])",
}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a process waits for")
@pytest.mark.parametrize("way", WAYS_TO_WAIT)
def test_every_way_to_wait_for_input_is_noticed(way):
    script = "import select, subprocess, sys, threading\nprint('[', end='', flush=True)\n"
    script += f"{WAYS_TO_WAIT[way]}\nprint('end')"
    process = on_pipes("-n", "300", "--", sys.executable, "-c", script)
    assert read_until(process.stdout.fileno(), b"[") == b"["
    assert process.communicate(b"\n", timeout=PATIENCE_SECONDS) == (b"end\n", b"")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a process waits for")
@pytest.mark.parametrize("script", ["sleep 60", "sleep 60 | cat", "while :; do :; done"])
def test_a_command_that_does_something_else_does_not_wait_for_input(script):
    process = subprocess.Popen(
        ["sh", "-c", f"echo; {script}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout.readline() == b"\n"
    name = os.readlink(f"/proc/{process.pid}/fd/0")
    assert waits_for_input(process.pid, name, alone=False) is False
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.mark.parametrize("prompt", ["{", *map(as_nightly, ("#? ", "name? "))])
def test_a_prompt_is_shown_on_a_terminal(prompt):
    screen, terminal = pty.openpty()
    script = 'printf "%s" "$0"; read answer; echo "<$answer>"'
    call = [sys.executable, "-m", "tokcap", "-n", "300", "--", "sh", "-c", script, prompt]
    process = subprocess.Popen(
        [sys.executable, "-c", TAKE_TERMINAL, *call],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    assert read_until(screen, prompt.encode()).endswith(prompt.encode())
    os.write(screen, b"yes\n")
    assert b"<yes>\r\n" in read_until(screen, b"<yes>\r\n")
    assert process.wait(timeout=PATIENCE_SECONDS) == 0
    os.close(screen)


def test_what_is_piped_into_tokcap_is_shown_on_a_terminal_during_a_pause():
    screen, terminal = pty.openpty()
    process = start("-n", "300", stdin=subprocess.PIPE, stdout=terminal)
    os.close(terminal)
    process.stdin.write(b"[y/N] ")
    process.stdin.flush()
    assert read_until(screen, b"[y/N] ") == b"[y/N] "
    process.communicate(b"end\n", timeout=PATIENCE_SECONDS)
    assert read_until(screen, b"end\r\n") == b"end\r\n"
    os.close(screen)
