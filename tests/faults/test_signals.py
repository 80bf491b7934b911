"""Signals at every moment of a call: no traceback, a status that tells the truth, and nothing left behind."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.support.faults import LINES, TOKCAP, left_behind, never_began, without_ignored
from tests.support.program import Ran
from tests.support.tiers import as_nightly, times

pytestmark = pytest.mark.usefixtures("stored")

TIMES = 3 * times()

CALLS = {
    "a command": (["-n", "60", "--", "sh", "-c", "seq 1 3000; sleep 0.05; exit 3"], 3),
    "an envelope": (["-n", "210", "-o", "json", "--", "sh", "-c", "seq 1 3000; sleep 0.05; exit 3"], 3),
    "standard input": (["-n", "60", "--keep", "tail"], 0),
    "a session": (["-n", "60", "--session", "s", "--", "sh", "-c", "seq 1 3000; exit 3"], 3),
    "show": (["show", "@last", "-n", "60", "--token-offset", "3000"], 0),
    "a subcommand": (["spill", "list"], 0),
}


SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP")
# Every call gets one of the signals every day, and all of them nightly.
CASES = [
    (call, name) if place % 3 == SIGNALS.index(name) else as_nightly((call, name))
    for place, call in enumerate(CALLS)
    for name in SIGNALS
]


@pytest.mark.parametrize(("call", "name"), CASES)
def test_at_any_moment(call, name, tmp_path, with_store, inside):
    (args, status), number = CALLS[call], getattr(signal, name)
    chance = random.Random(f"{args}{number}")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    for _ in range(TIMES):
        process = subprocess.Popen(
            [*TOKCAP, *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(temporary)},
            start_new_session=True,
        )
        # Half of them as from a terminal, to all; half to tokcap alone.
        to_all = chance.random() < 0.5
        process.stdin.write(LINES)
        time.sleep(chance.uniform(0, 0.2))
        (os.killpg if to_all else os.kill)(process.pid, number)
        out, err = process.communicate(timeout=60)
        if number == signal.SIGINT:
            if never_began(Ran(process.returncode, out, err)):
                continue
            err = without_ignored(err)
        assert b"Traceback" not in err, err
        assert b"internal error" not in err, err
        assert process.returncode in (status, -number, 128 + number)
    assert list(temporary.iterdir()) == []
    for path in left_behind(with_store):
        os.utime(path, (1, 1))
    inside("spill", "gc")
    assert left_behind(with_store) == []
    assert inside("show", "@last", "--token-count").status == 0


def test_an_interrupt_in_a_callback_ends_the_program_without_a_word():
    # Python ignores what a callback raises, prints a traceback and goes on: the key would be lost.
    # Its own imports have such callbacks.
    code = (
        "import tokcap.__main__, os, signal, weakref\n"
        "class Watched: pass\n"
        "watched = Watched()\n"
        "watch = weakref.ref(watched, lambda _: os.kill(os.getpid(), signal.SIGINT))\n"
        "del watched\n"
        "print('went on')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")
