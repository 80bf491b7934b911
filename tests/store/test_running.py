"""Outputs of commands that still run: read by name, waited for, and in the store when they have ended."""

import os
import re
import signal
import subprocess
import sys

import pytest

from tests.support.processes import wait_for
from tests.support.program import PYTHON
from tests.support.reference import recount
from tests.support.tiers import as_nightly
from tokcap.environment import Environment
from tokcap.store.running import outputs, roots_of

pytestmark = pytest.mark.usefixtures("with_store")

# Writes each line that the test writes. A line beginning with `!` goes to stderr, `exit N` ends it.
ECHO = (
    'while IFS= read -r line; do case $line in "exit "*) exit ${line#* };; "!"*) echo "$line" >&2;;'
    ' "?"*) printf %s "$line";; *) echo "$line";; esac; done'
)


class Background:
    """A command that tokcap runs in the background, and what it has been told to write."""

    def __init__(self, *options):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tokcap", *options, "--", "sh", "-c", ECHO],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        wait_for(lambda: bool(self.running))
        [found] = self.running
        self.name, self.draft = found.name, found.draft
        self.sizes = {"out": 0, "err": 0}

    @property
    def running(self):
        found = (one.running for one in outputs(roots_of(Environment(os.environ))))
        return [one for one in found if one.runs and one.started_at]

    def write(self, *lines):
        """Let the command write lines, and wait until they can be read."""
        for line in lines:
            self.process.stdin.write(line.encode() + b"\n")
            self.sizes["err" if line[0] == "!" else "out"] += len(line.encode()) + (line[0] != "?")
        self.process.stdin.flush()
        wait_for(lambda: all(map(self.has_written, self.sizes)))

    def has_written(self, stream):
        path = os.path.join(self.draft, stream)
        return not self.sizes[stream] or (
            os.path.exists(path) and os.path.getsize(path) >= self.sizes[stream]
        )

    def end(self, status=0):
        out, err = self.process.communicate(f"exit {status}\n".encode(), timeout=60)
        assert self.process.returncode == status
        return out + err


@pytest.fixture
def start():
    started = []

    def run(*options):
        started.append(Background(*options))
        return started[-1]

    yield run
    for one in started:
        if one.process.poll() is None:
            os.killpg(one.process.pid, signal.SIGKILL)
        one.process.communicate()


NOW = ("--timeout", "0")


def line_of(ran):
    return ran.out.decode().splitlines()[-1]


def since(ran):
    return ("--since", re.search(r"--since (\S+)", line_of(ran))[1])


def test_a_hundred_polls_cost_the_log_and_twelve_tokens_each(start, inside):
    background, cost, log, place = start("-n", "500"), 0, "", ("--since", "0")
    for number in range(100):
        line = f"2026-11-19T22:00:{number % 60:02d} worker-{number % 7} handled request {number * 7919}"
        background.write(line)
        log += line + "\n"
        ran = inside("wait", background.name, *place, *NOW)
        assert (ran.status, ran.out.decode().splitlines()[0]) == (124, line)
        cost += recount(ran.out + ran.err)
        place = since(ran)
    assert cost <= recount(log.encode()) + 12 * 100
    nothing = inside("wait", background.name, *place, *NOW)
    assert nothing.out.startswith(b"[RUNNING] --since ")
    assert recount(nothing.out) <= 12


def test_a_session_keeps_the_place_of_each_reader_and_pays(start, inside):
    for name in ("a", "b"):
        inside("budget", "start", name, "--total", "9000")
    background = start("-n", "500")
    background.write("one", "two")
    a, b = ({"TOKCAP_SESSION": name} for name in "ab")
    assert inside("wait", background.name, *NOW, env=a).out == b"one\ntwo\n[RUNNING]\n"
    background.write("!three", "four")
    assert inside("wait", "@running", *NOW, env=a).out == b"!three\nfour\n[RUNNING]\n"
    assert inside("wait", background.name, *NOW, env=b).out == b"!three\none\ntwo\nfour\n[RUNNING]\n"
    assert inside("wait", background.name, *NOW, env=a).out == b"[RUNNING]\n"
    used = inside("budget", "status", "a", "-o", "json").json["data"]["used"]
    assert used == sum(map(recount, (b"one\ntwo\n[RUNNING]\n", b"!three\nfour\n[RUNNING]\n", b"[RUNNING]\n")))


@pytest.mark.parametrize("options", [("-n", "500"), ("-n", "500", "-o", "json"), ("--spill", "always")])
def test_a_name_leads_to_what_there_is_and_then_to_the_stored_output(start, inside, options):
    background = start(*options)
    assert background.name in inside("spill", "list").out.decode()
    background.write("one", "?prompt")
    shown = inside("show", background.name)
    assert shown.out == b"one\n?prompt"
    assert b"may still run; see tokcap wait " + background.name.encode() in shown.err
    assert inside("show", f"{background.name}@2").out == b"?prompt"
    assert inside("spill", "rm", background.name).status == 2
    with open(inside("spill", "path", background.name).out.strip(), "rb") as file:
        assert file.read() == b"one\n?prompt"
    background.end(7)
    for name in (background.name, "@running"):
        ran = inside("wait", name)
        assert (ran.status, ran.out) == (7, b"one\n?prompt\n[EXITED 7]\n")
    assert inside("show", background.name).out == b"one\n?prompt"
    assert background.name not in inside("spill", "list").out.decode()


def test_nothing_about_the_command_changes_and_what_nobody_has_read_is_not_kept(start, inside):
    background = start("-n", "500")
    background.write("one", "!two")
    assert background.end(3) == b"one\n!two\n"
    assert inside("spill", "list").out == b"nothing is stored\n"
    ran = inside("wait", background.name, *NOW)
    assert (ran.status, ran.err.count(b"\n")) == (1, 1)


def test_a_command_does_not_wait_for_itself(start, inside):
    background = start("-n", "500")
    own = f"sleep 0.5; exec {PYTHON} -m tokcap wait @running --timeout 1ms"
    assert inside("-n", "500", "--", "sh", "-c", own).status == 124
    background.end()
    assert inside("-n", "500", "--", "sh", "-c", own).out == b"[EXITED 0]\n"


def test_it_waits_for_a_pattern_also_in_a_line_that_still_grows(start, inside):
    background = start("-n", "500")
    background.write("ready: no", "?rea")
    assert inside("wait", background.name, "--until", "^.rea$").status == 0
    assert inside("wait", background.name, "--until", "ready: yes", *NOW).status == 124
    waiting = subprocess.Popen(
        [sys.executable, "-m", "tokcap", "wait", background.name, "--until", "dy: y"], stdout=subprocess.PIPE
    )
    background.write("?dy: ", "yes")
    out, _ = waiting.communicate(timeout=60)
    assert (waiting.returncode, out.splitlines()[1]) == (0, b"?rea?dy: yes")


@pytest.mark.parametrize(
    ("words", "status", "problem"),
    [
        (("--until", "("), 2, "wait: --until: '(' is not a valid regular expression"),
        (("--since", "x"), 2, "wait: --since: 'x' is not a place"),
        (("--since", "1.2.3"), 2, "wait: --since: '1.2.3' is not a place"),
        (("-n", "20"), 2, "wait: --token-limit 20 is too small to wait; use 48 or more"),
        (("--timeout", "soon"), 2, "wait: --timeout: 'soon' is not a duration"),
        (("--until", "(a+)+$"), 2, "--until: the pattern '(a+)+$' takes too long"),
    ],
)
def test_a_mistake_is_one_line(start, inside, words, status, problem):
    background = start("-n", "500")
    background.write("a" * 60 + "b")
    ran = inside("wait", background.name, *words)
    assert (ran.status, ran.out) == (status, b"")
    assert ran.err.decode().startswith(f"tokcap: {problem}")


@pytest.mark.parametrize("output", ["text", "json"])
def test_pages_within_the_limit_join_to_all_that_was_written(start, inside, output):
    background = start("-n", "500")
    background.write(*(f"{number} äöü → {number * number}" for number in range(400)), "?the end ☃")
    place, joined, limit = (), "", 300
    for _ in range(100):
        ran = inside("wait", background.name, *place, *NOW, "-n", str(limit), "-o", output)
        assert recount(ran.out + ran.err) <= limit
        text = ran.out.decode().removesuffix(line_of(ran) + "\n")
        if output == "json":
            text = "".join(ran.json["data"])
            place = tuple(ran.json["meta"]["continue"][2:])
        else:
            place = since(ran)
        if not text:
            break
        joined += text
    assert joined.removesuffix("\n").endswith("?the end ☃")
    assert (
        joined.removesuffix("\n")
        == "".join(f"{number} äöü → {number * number}\n" for number in range(400)) + "?the end ☃"
    )


def test_a_killed_command_and_a_killed_tokcap_are_told_apart(start, inside):
    background = start("-n", "500")
    background.write("one")
    inside("wait", background.name, *NOW)
    os.kill(int(subprocess.check_output(["pgrep", "-P", str(background.process.pid)])), signal.SIGKILL)
    ran = inside("wait", background.name)
    assert (ran.status, ran.out) == (137, b"one\n[EXITED 137]\n")
    background = start("-n", "500")
    background.write("one")
    os.killpg(background.process.pid, signal.SIGKILL)
    background.process.communicate()
    for _ in range(2):
        ran = inside("wait", background.name)
        assert (ran.status, ran.out) == (125, b"one\n[KILLED]\n")
        inside("spill", "gc")


def test_a_capped_store_is_said(start, inside):
    background = start("-n", "500", "--max-bytes", "100")
    background.write(*["x" * 30] * 10)
    assert b"only the first 100 of 310 bytes" in inside("wait", background.name, *NOW).err
    background.end()
    ran = inside("wait", background.name)
    assert ran.out.count(b"x") == 97
    assert b"only the first 100 of 310 bytes" in ran.err


def test_ctrl_c_ends_the_wait_quietly_and_loses_nothing(start, inside):
    inside("budget", "start", "a")
    background = start("-n", "500")
    background.write("one")
    env = {**os.environ, "TOKCAP_SESSION": "a"}
    words = [sys.executable, "-m", "tokcap", "wait", background.name]
    waiting = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    [found] = outputs(roots_of(Environment(os.environ)))
    wait_for(lambda: found.is_read)
    waiting.send_signal(signal.SIGINT)
    assert waiting.communicate(timeout=60) == (b"", b"")
    assert waiting.returncode in (130, -signal.SIGINT)
    assert inside("wait", background.name, *NOW, env=env).out == b"one\n[RUNNING]\n"


@pytest.mark.parametrize("lines", [20_000, as_nightly(1_000_000)])
def test_a_reader_needs_the_same_memory_however_much_is_new(start, lines):
    background = start("-n", "500")
    background.write(*["x" * 60] * lines)
    words = ["wait", background.name, "--until", "y", *NOW]
    program = (
        "from tokcap.__main__ import call; from tokcap.environment import Environment\n"
        f"print(call({words!r}, Environment.of_this_process()))\n"
        "print(*[line.split()[1] for line in open('/proc/self/status') if 'VmHWM' in line])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60)
    *_, status, kilobytes = done.stdout.split()
    assert status == b"124"
    assert int(kilobytes) < 60_000
