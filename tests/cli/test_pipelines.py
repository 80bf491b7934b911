"""The stand-in shells store what the last stage of a pipeline reads, and change nothing about it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess

import pytest

from tests.support.nasty_lines import Line, c
from tests.support.processes import command_line, state_of, wait_for
from tests.support.reference import recount
from tests.support.shells import run_line
from tests.support.tiers import some_everyday

pytestmark = pytest.mark.usefixtures("with_store")

TIMEOUT_SECONDS = 120
SHELLS = [
    pytest.param(name, marks=pytest.mark.skipif(not shutil.which(name), reason=f"{name} is not installed"))
    for name in ("bash", "zsh")
]
# In both shells. What runs at the same time writes to one stream only.
BOTH = {
    "a stage that fails": "(seq 9; exit 7) | tail -2",
    "two of them": "(seq 9; exit 7) | (cat; exit 6) | tail -2",
    "the last stage fails": "seq 9 | grep x",
    "nothing is written": "true | tail -2; echo $?",
    "everything is shown": "seq 3 | sort -r",
    "no newline at the end": "printf 'a\\nb' | tail -1",
    "NUL and other bytes": "printf 'a\\0\\377b\\nc' | tail -c 4",
    "head ends an endless stage": "yes | head -2",
    "grep -q ends an endless stage": "yes | grep -q y; echo $?",
    "sed ends an endless stage": "yes | sed 2q",
    "many at once": "for i in 1 2 3 4 5 6 7 8 9; do seq $i 99 | head -1; done",
    "more than a pipe holds": "seq 200000 | tail -1",
    "much to a slow reader": "seq 100000 | (sleep 0.1; tail -1)",
    "filters one after another": "seq 99 | grep 5 | sort -r | sed s/5/x/ | tail -2",
    "a filter before another command": "seq 99 | grep 5 | cat -n",
    "an && list": "seq 9 | tail -1 && echo yes",
    "an || list": "seq 9 | grep x || echo no",
    "a negated pipeline": "! seq 9 | grep x; echo $?",
    "a condition": "if seq 9 | grep -q 3; then echo three; fi",
    "a loop that reads the result": 'seq 9 | tail -3 | while read x; do echo "<$x>"; done',
    "a loop around readers": "seq 4 | while read x; do echo $x | wc -l; done",
    "readers of one pipe": "seq 4 | { read x; echo first $x; tail -1; }",
    "readers of one pipe in subshells": "printf '1\\n2\\n3\\n' | { (read x; echo $x); cat; }",
    "head leaves the rest": "seq 40000 | { head -1 > one; cat > rest; wc -c < one; }",
    "a function": "f() { seq 9 | tail -1; return 3; }; f; echo $?",
    "a function as last stage": "g() { tail -1; echo after; }; seq 9 | g",
    "a function of the user's": "tail() { echo mine $*; }; seq 9 | tail -2",
    "a subshell": "(cd /; (exit 4) | wc -l; pwd)",
    "a substitution": 'x=$(seq 9 | tail -1); echo "[$x]"',
    "a substitution that fails": 'x=$(seq 9 | grep x); echo "[$x] $?"',
    "a process substitution": "cat <(seq 9 | tail -1) <(seq 5 | head -1)",
    "both streams": "ls /none 2>&1 | sed s/.*none/none/",
    "both streams at once": "ls /none |& sed s/.*none/none/",
    "a here-document": "cat << E | tail -1\none\ntwo\nE",
    "a here-document of its own": "seq 9 | tail -1 << E\none\ntwo\nE",
    "a here-string": "grep -c o <<< foo; (grep -c o <<< foo)",
    "a file": "seq 9 > f; echo x | tail -1 f; wc -l < f",
    "into a file": "seq 9 | tail -1 > f; cat f",
    "eval": "eval 'seq 9 | tail -1' < /dev/null && pwd > /dev/null; echo $?",
    "source": "echo '(exit 3) | wc -l; echo $?' > f; . ./f",
    "pipefail": "set -o pipefail; (exit 3) | wc -l; echo $?",
    "set -e": "set -e; (exit 3) | wc -l; seq 9 | grep x; echo never",
    "set -e and pipefail": "set -e -o pipefail; f() { (exit 3) | wc -l; echo never; }; f",
    "set -u": "set -u; seq 9 | tail -1",
    "a trace": "set -x; echo 1 | wc -l; true",
    "a trap for EXIT": "trap 'echo bye $?' EXIT; seq 9 | tail -1; exit 4",
    "a trap for a signal": "trap 'echo usr' USR1; seq 9 | tail -1; kill -USR1 $$; echo end",
    "a full path": "seq 9 | /usr/bin/tail -1",
    "command": "seq 9 | command tail -1",
    "exec": "(seq 9 | tail -1); exec tail -1 /dev/null",
    "a nested shell": "sh -c 'seq 9 | tail -1' | wc -l; bash -c 'type tail' | grep -c function",
    "the environment": "env | grep -c -e TOKCAP_STAGES -e BASH_ENV= -e ZDOTDIR=; true",
    "descriptors": "seq 9 | { tail -1; ls /proc/self/fd | wc -l; }",
    "in the background": "seq 9 | tail -1 & wait; echo $?",
    "in the background with a status": "seq 9 | grep x & wait $!; echo $?",
    "a last stage that is killed": "sleep 5 | tail -1 & kill $!; wait $!; echo $?",
    "a stage that is killed": "sh -c 'echo 1; kill -9 $$' | tail -1",
    "a last stage without a reader": "seq 99999 | sort | true; echo $?",
    "closed output": "exec > /dev/null 2>&1; (exit 3) | wc -l; exit 5",
    "the last argument": "echo one two > /dev/null; echo $_; seq 9 | tail -1",
}
OF_BASH = {
    "PIPESTATUS": "(exit 3) | seq 9 | (cat; exit 4) | tail -1; echo ${PIPESTATUS[@]}",
    "a trap for ERR": "set -E; trap 'echo err' ERR; (seq 9 | grep x); f() { seq 9 | grep x; }; f",
    "a trap for DEBUG": "trap 'echo debug' DEBUG; seq 9 | tail -1; (seq 9 | tail -1)",
    "functrace": "set -T; trap 'echo debug $BASH_COMMAND' DEBUG; f() { seq 9 | tail -1; }; f",
    "POSIX mode": "set -o posix; seq 9 | tail -1; (exit 3) | wc -l",
    "lastpipe": "shopt -s lastpipe; seq 9 | tail -1; seq 9 | read x; echo $x",
    "an alias": "shopt -s expand_aliases\nalias tail='tail -n 2'\nseq 9 | tail",
    "an exported function": "tail() { echo mine; }; export -f tail; bash -c 'seq 9 | tail -1'; seq 9 | tail",
    "what tail is": "type tail; type -t tail; command -v tail; seq 9 | tail -1",
    "all traps": "seq 9 | tail -1; trap -p",
}
OF_ZSH = {
    "pipestatus": "(exit 3) | seq 9 | (cat; exit 4) | tail -1; echo $pipestatus",
    "a trap for ZERR": "TRAPZERR() { echo err; }; seq 9 | grep x; f() { seq 9 | grep x; }; f",
    "a trap for DEBUG": "trap 'echo debug' DEBUG; seq 9 | tail -1",
    "an alias": "alias tail='tail -n 2'; eval 'seq 9 | tail'",
    "what tail is": "type tail; which tail; seq 9 | tail -1",
}
LINES = {
    "bash": {name: c(text) for name, text in (BOTH | OF_BASH).items()},
    "zsh": {name: c(text) for name, text in (BOTH | OF_ZSH).items()},
}
for lines in LINES.values():
    lines["standard input"] = Line((), stdin=b"seq 9 | tail -1\n(exit 3) | wc -l\necho $?\n")
    lines["a login shell"] = Line(("-lc", "seq 9 | tail -1"))
    lines["flags"] = Line(("-e", "-u", "-o", "pipefail", "-c", "(exit 3) | wc -l; echo never"))
    lines["a traced shell"] = Line(("-x", "-c", "echo 1 | wc -l"))
CASES = [(shell, name) for shell in LINES for name in LINES[shell]]


@pytest.fixture(autouse=True)
def system(programs, monkeypatch):
    monkeypatch.delenv("BASH_ENV", raising=False)
    monkeypatch.delenv("_", raising=False)
    monkeypatch.setenv("PATH", "/usr/local/bin:/usr/bin:/bin")


def run(programs, shell, text, **variables):
    return subprocess.run(
        [programs / f"tokcap-{shell}", "-c", text],
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
        env={**os.environ, **variables},
    )


def show(programs, told):
    handle = re.search(rb"show (\w+)", told)[1].decode()
    return subprocess.run(
        [programs / "tokcap", "show", handle, "-n", "10000000"], capture_output=True, check=True
    ).stdout


@pytest.mark.parametrize(("shell", "name"), some_everyday(CASES, 24))
def test_a_pipeline_writes_the_same_bytes_and_ends_the_same_way(shell, name, programs, tmp_path):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    line = LINES[shell][name]
    ours = run_line(str(programs / f"tokcap-{shell}"), line, tmp_path / "x")
    shutil.rmtree(tmp_path / "x")
    plain = run_line(shell, line, tmp_path / "x")
    if "trace" in name:
        # Its stages run at the same time.
        ours, plain = (one._replace(err=sorted(one.err.splitlines())) for one in (ours, plain))
    assert ours == plain


@pytest.mark.parametrize("shell", SHELLS)
class TestWhatIsTold:
    def test_names_the_stage_that_failed_and_stores_what_was_dropped(self, shell, programs):
        done = run(programs, shell, "(seq 2000; exit 7) | tail -2")
        assert (done.stdout, done.returncode) == (b"1999\n2000\n", 0)
        text = b"".join(b"%d\n" % number for number in range(1, 2001))
        told = rb"\[stage 1 exited 7; \d+ tokens before tail; \S+ show \w+\]\n"
        assert re.fullmatch(told, done.stderr)
        assert recount(text) == int(re.search(rb"(\d+) tokens", done.stderr)[1])
        assert show(programs, done.stderr) == text

    @pytest.mark.parametrize(
        "text",
        [
            "f() { (exit 7) | wc -l; }; f && true",
            "eval '(exit 7) | wc -l' < /dev/null && pwd",
            "set -o pipefail; (exit 7) | wc -l",
            "for i in 1; do (exit 7) | wc -l; done; true",
            "(exit 7) | sort | wc -l; echo done",
            "(exit 7) |& wc -l || true",
        ],
    )
    def test_a_status_is_known_wherever_the_pipeline_stands(self, shell, text, programs):
        assert b"[stage 1 exited 7]\n" in run(programs, shell, text).stderr

    def test_nothing_is_told_if_nothing_was_dropped_and_nothing_failed(self, shell, programs):
        done = run(
            programs, shell, "seq 3 | sort -r; seq 3 | tail -5; x=$(seq 5 | grep 5); seq 5; true | wc -l"
        )
        assert done.stderr == b""

    def test_of_several_filters_the_first_one_counts(self, shell, programs):
        done = run(programs, shell, "seq 100 | grep 5 | sort | tail -1")
        assert done.stderr.startswith(b"[200 tokens before grep; ")

    def test_a_stage_that_is_ended_is_told_and_what_it_wrote_is_stored(self, shell, programs):
        done = run(programs, shell, "yes | head -1")
        assert re.match(rb"\[stage 1 ended by head; (about )?\w+ tokens before head; ", done.stderr)
        stored = show(programs, done.stderr)
        assert stored == (b"y\n" * len(stored))[: len(stored)]
        assert len(stored) < 1 << 20

    def test_many_pipelines_share_one_stored_output(self, shell, programs, with_store):
        done = run(programs, shell, "for i in $(seq 40); do seq $i 100 | tail -1; done > /dev/null")
        assert done.stderr.count(b"tokens before tail") == 4
        last = done.stderr.splitlines()[-1]
        assert last.startswith(b"[36 more pipelines; ")
        assert show(programs, last).count(b"100\n") == 36
        assert len([*(with_store / "spill").glob("??/*")]) == 5

    def test_the_lines_are_inside_the_limit(self, shell, programs):
        done = run(programs, shell, "(seq 5000; exit 7) | tail -4000", TOKCAP_TOKEN_LIMIT="200")
        assert b"[stage 1 exited 7; " in done.stderr
        assert recount(done.stdout + done.stderr) <= 200

    def test_one_setting_turns_all_of_it_off(self, shell, programs, tmp_path):
        text = "(seq 99; exit 7) | tail -1; type tail"
        (tmp_path / "config.toml").write_text("pipes = false\n")
        for variables in ({"TOKCAP_PIPES": "0"}, {"TOKCAP_CONFIG": str(tmp_path / "config.toml")}):
            assert run(programs, shell, text, **variables).stderr == b""

    def test_no_more_than_the_largest_size_is_stored(self, shell, programs):
        done = run(programs, shell, "seq 100000 | tail -1", TOKCAP_MAX_BYTES="10000")
        assert b", the first part]" in done.stderr
        assert len(show(programs, done.stderr).partition(b"[TRUNCATED]")[0]) <= 10000

    def test_what_is_stored_is_redacted_too(self, shell, programs):
        secret = "ghp_" + "Zb3xQ9" * 6
        done = run(programs, shell, f"echo token {secret} | wc -l", TOKCAP_REDACT="1")
        assert b"token ghp_[REDACTED]" in show(programs, done.stderr)

    def test_a_pipeline_that_outlives_the_shell_runs_to_its_end(self, shell, programs, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        text = "(while [ ! -e stop ]; do sleep 0.05; done; seq 100000) | tail -1 > last & true"
        with open("out", "w") as out:
            words = [programs / f"tokcap-{shell}", "-c", text]
            assert subprocess.run(words, stdout=out, stderr=out, timeout=TIMEOUT_SECONDS, check=True)
        (tmp_path / "stop").touch()
        wait_for(lambda: (tmp_path / "last").read_text() == "100000\n")

    def test_a_killed_shell_leaves_nothing_behind(self, shell, programs, with_store):
        words = [programs / f"tokcap-{shell}", "-c", "(seq 10; exec sleep 60) | tail -1"]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)
        wait_for(lambda: b"tail" in b"".join(map(command_line, group_of(process.pid))))
        process.kill()
        process.wait(TIMEOUT_SECONDS)
        process.stdout.close()
        # Its stages have nobody to write to, or nothing to read.
        wait_for(lambda: not [pid for pid in group_of(process.pid) if b"tail" in command_line(pid)])
        for pid in group_of(process.pid):
            os.kill(pid, signal.SIGKILL)
        assert not [path for path in with_store.rglob("*") if path.is_file() and path.parent != with_store]


def group_of(leader):
    """Return the processes of a group that still run."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.getpgid(int(name)) == leader and state_of(int(name)) != "Z":
                found.append(int(name))
        except ProcessLookupError:
            pass
    return found
