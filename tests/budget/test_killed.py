"""A tokcap that is killed has paid for what it had written: real processes, ended at random moments."""

import contextlib
import os
import random
import select
import signal
import subprocess
import sys
import time

import pytest

from tests.support.reference import recount
from tests.support.tiers import as_nightly, times
from tokcap.budget.arithmetic import Settings
from tokcap.budget.sqlite import ledger_in
from tokcap.steps.live import FIRST_TOKENS
from tokcap.system.descriptors import ENLARGE_AFTER_BYTES, LARGE_PIPE_BYTES, PIPE_BYTES

TIMEOUT_SECONDS = 60
# How many processes are killed in each test. Two tests have every script of SCRIPTS in their turn.
KILLS = 4 * times()

# The bytes of a token in the text that is written without a pause below.
TOKEN_BYTES = 4

SLOW_LINES = "i=0; while :; do i=$((i+1)); echo line $i of a slow command; sleep 0.004; done"
SCRIPTS = {
    "slow lines": SLOW_LINES,
    "one burst and then nothing": "seq 1 120; exec sleep 60",
    "both streams": "while :; do echo to stdout; echo to stderr >&2; sleep 0.004; done",
    "a prompt without a line end": "printf 'name? '; exec sleep 60",
    "silence": "exec sleep 60",
    "text of many bytes for each token": "while :; do echo internationalization internationalization; done",
    "text of many tokens for each character": "while :; do printf '🧿𒀀\\n'; sleep 0.004; done",
}


@pytest.fixture
def ledger(with_store):
    return ledger_in(str(with_store))


def run_and_kill(args: list[str], seconds: float, *, after_output: bool = False) -> bytes:
    """Run tokcap with both streams in one pipe, kill it, and return all that it has written.

    The seconds begin with its start, or with its first output.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "tokcap", "--session", "s", *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.set_blocking(process.stdout.fileno(), False)
    written = b""
    if after_output:
        assert select.select([process.stdout], [], [], TIMEOUT_SECONDS)[0]
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        written += process.stdout.read() or b""
        time.sleep(0.002)
    process.kill()
    process.wait()
    written += process.stdout.read() or b""
    # The command outlives tokcap, and some of the scripts never write, so no closed pipe ends them.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.stdout.close()
    return written


@pytest.mark.parametrize(
    ("total", "limit"), [(2000, 500), (None, None), *map(as_nightly, ((2000, None), (None, 500)))]
)
def test_what_killed_processes_wrote_is_used(ledger, total, limit):
    chance = random.Random(f"{total} {limit}")
    ledger.start("s", Settings(total))
    written_tokens = most_tokens = 0
    for number in range(KILLS):
        script = [*SCRIPTS.values()][(number + (0 if total else 4)) % len(SCRIPTS)]
        limited = ["-n", str(limit)] if limit else []
        # On a busy machine a process may be killed before it has written anything, but not always. When
        # little is left of a total, nothing is passed on.
        after_output = number == (0 if total else 1) or (number % 2 == 0 and "done" in script and not total)
        seconds = (0 if after_output else 0.15) + 0.2 * chance.random()
        written = run_and_kill([*limited, "--", "sh", "-c", script], seconds, after_output=after_output)
        if b"the budget is exhausted" in written:
            break
        tokens = recount(written)
        written_tokens += tokens
        # An announcement is at most twice of what is out with the next block, or the first small step. A
        # process that is killed between both has not written that block.
        block_bytes = PIPE_BYTES if len(written) < ENLARGE_AFTER_BYTES else LARGE_PIPE_BYTES
        most_tokens += 2 * (tokens + block_bytes // TOKEN_BYTES) + FIRST_TOKENS
        after = ledger.session("s").read()
        assert after.reserved == 0
        assert written_tokens <= after.used <= most_tokens
    assert written_tokens > 0
    if total:
        assert ledger.session("s").read().used <= total


def test_a_process_killed_before_it_wrote_anything_costs_nothing(ledger):
    ledger.start("s", Settings(2000))
    assert run_and_kill(["-n", "500", "--", "sh", "-c", "exec sleep 60"], 0.3) == b""
    assert run_and_kill(["-n", "500", "-o", "json", "--", "sh", "-c", SLOW_LINES], 0.3) == b""
    assert (ledger.session("s").read().used, ledger.session("s").read().reserved) == (0, 0)


def test_an_answer_that_is_charged_exactly_is_not_charged_for_its_announcements(ledger):
    ledger.start("s", Settings(5000))
    script = "for i in $(seq 1 60); do echo line $i; sleep 0.002; done; echo done >&2"
    done = subprocess.run(
        [sys.executable, "-m", "tokcap", "--session", "s", "-n", "400", "--", "sh", "-c", script],
        capture_output=True,
        check=True,
    )
    assert ledger.session("s").read().used == recount(done.stdout) + recount(done.stderr)


@pytest.mark.parametrize(
    "number", [signal.SIGINT, *map(as_nightly, (signal.SIGTERM, signal.SIGHUP))], ids=str
)
def test_a_call_that_is_interrupted_pays_for_what_it_wrote(ledger, number):
    ledger.start("s", Settings(5000))
    process = subprocess.Popen(
        [sys.executable, "-m", "tokcap", "--session", "s", "-n", "3000", "--", "sh", "-c", SLOW_LINES],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )
    first = process.stdout.readline()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    after = ledger.session("s").read()
    assert after.reserved == 0
    assert after.used == recount(first + out) + recount(err)
