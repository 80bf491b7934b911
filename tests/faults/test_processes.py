"""Processes that behave badly, are too many, or are killed in the midst of something."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.support.faults import (
    LINES,
    TOKCAP,
    another_user,
    handle_in,
    judged,
    run_tokcap,
    the_line,
)
from tests.support.program import Ran
from tests.support.tiers import as_nightly, times
from tokcap.tokens.index import Checkpoints

pytestmark = pytest.mark.usefixtures("with_store")


def start(*args, **options) -> subprocess.Popen:
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*TOKCAP, *args], **{**streams, **options})


def finished(process: subprocess.Popen) -> Ran:
    out, err = process.communicate(timeout=60)
    return judged((), Ran(process.returncode, out, err))


class TestTooManyProcesses:
    """Limits bind neither root nor who may lift them: all this is done as somebody else."""

    @pytest.fixture
    def limited(self, tmp_path):
        tmp_path.chmod(0o777)

        def run(number: int, *args, **options) -> Ran:
            # Each has a user of its own: what the last one left behind must not count.
            prefix = (*another_user(61200 + number), "prlimit", f"--nproc={number}")
            return run_tokcap(*args, prefix=prefix, env={"TOKCAP_DATA_DIR": f"/proc/no/{number}"}, **options)

        return run

    def test_none_for_the_command(self, limited):
        ran = limited(1, "-n", "60", "--", "echo", "x")
        assert (ran.status, ran.out) == (125, b"")
        assert the_line(ran) == "tokcap: cannot start echo: Resource temporarily unavailable"
        assert limited(1, "-n", "60", stdin=b"x\n").out == b"x\n"

    @pytest.mark.parametrize("number", [2, 3])
    def test_one_for_the_command_and_none_or_one_for_a_thread_beside_it(self, limited, number):
        ran = limited(number, "-n", "60", "--", "sh", "-c", "echo x; exit 3")
        assert (ran.status, ran.out, ran.err) == (3, b"x\n", b"")

    def test_without_a_thread_the_time_is_up_all_the_same(self, limited):
        for script in ("echo x; exec sleep 60", "echo x; exec >&- 2>&- sleep 60"):
            ran = limited(2, "-n", "60", "--timeout", "0.3", "--", "sh", "-c", script)
            assert (ran.status, ran.out) == (124, b"x\n")


class TestCommandsThatBehaveOddly:
    @pytest.mark.parametrize("args", [["-n", "210"], *map(as_nightly, ([], ["-o", "json"]))])
    def test_one_that_never_reads_what_it_is_given_ends_when_it_ends(self, args):
        with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as endless:
            ran = run_tokcap(*args, "--", "sh", "-c", "echo x; exit 3", stdin=endless.stdout)
            endless.kill()
        assert ran.status == 3
        assert b"x" in ran.out

    @pytest.mark.parametrize("args", [["-n", "600"], ["--", "env"]])
    def test_one_that_leaves_a_daemon_behind_does_not_hold_tokcap_nor_lose_its_daemon(self, args):
        ran = run_tokcap(*args, "sh", "-c", "sleep 300 & echo $!; exit 3")
        assert ran.status == 3
        daemon = int(ran.out)
        # It was not waited for, and nobody has ended it.
        os.kill(daemon, signal.SIGKILL)

    def test_a_daemon_that_writes_for_ever_meets_a_closed_pipe(self):
        ran = run_tokcap("-n", "60", "--", "sh", "-c", "yes & echo $!; exit 3")
        assert ran.status == 3
        daemon = int(ran.out.split()[0]) if ran.out[:1].isdigit() else None
        deadline = time.monotonic() + 60
        while daemon and os.path.exists(f"/proc/{daemon}") and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not daemon or not os.path.exists(f"/proc/{daemon}")

    @pytest.mark.parametrize("change", ["os.setpgid(0, 0)", "os.setsid()"])
    def test_one_that_leaves_its_process_group_still_hears_of_signals(self, change, tmp_path):
        script = (
            "import os, signal, sys, time\n"
            "signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b'got\\n'), os._exit(6)))\n"
            f"{change}\nopen('ready', 'w')\ntime.sleep(60)"
        )
        process = start("-n", "60", "--", sys.executable, "-c", script, cwd=tmp_path)
        while not (tmp_path / "ready").exists():
            time.sleep(0.02)
        process.terminate()
        ran = finished(process)
        assert (ran.status, ran.out) == (6, b"got\n")


class TestKilled:
    """`kill -9` at random moments; see also `tests/store` and `tests/budget/test_ledger.py`."""

    KILLS = 3 * times()

    def test_while_an_index_is_written_the_next_reader_finds_a_whole_one_or_none(self, with_store):
        text = LINES * 60
        handle = handle_in(run_tokcap("-n", "60", stdin=text))
        args = ("show", handle, "-n", "60", "--token-offset", "300000")
        expected = run_tokcap(*args)
        entry = with_store / "spill" / handle[:2] / handle
        (index,) = entry.glob("index-*")
        chance = random.Random(11)
        for _ in range(self.KILLS):
            index.unlink(missing_ok=True)
            process = start(*args)
            time.sleep(chance.uniform(0.02, 0.25))
            process.kill()
            process.communicate()
            assert not index.exists() or Checkpoints.unpacked(index.read_bytes(), len(text))
        assert run_tokcap(*args) == expected
        assert run_tokcap("show", handle, "-n", "10000000").out == text
