"""Threads and processes share one budget, and its account stays exact."""

import subprocess
import sys

import pytest

from tests.support.tiers import times
from tokcap import UsageError, open_session, run

THREADS = 16
PROCESSES = 6 if times() == 1 else THREADS
ROUNDS = 8


def used_by(number_of_workers: int) -> int:
    return sum(number * 3 + turn for number in range(number_of_workers) for turn in range(ROUNDS))


def test_processes_share_one_session(with_store):
    code = (
        "import sys; from tokcap import open_session\n"
        "with open_session('processes', total=100_000) as budget:\n"
        f"    for turn in range({ROUNDS}):\n"
        "        budget.allocate(40); budget.record_usage(int(sys.argv[1]) * 3 + turn)\n"
        "    budget.allocate(500)\n"
    )
    ran = [subprocess.Popen([sys.executable, "-c", code, str(number)]) for number in range(PROCESSES)]
    assert [process.wait(60) for process in ran] == [0] * PROCESSES
    with open_session("processes") as manager:
        assert manager.remaining == 100_000 - used_by(PROCESSES)


def test_after_the_block_the_session_stays_and_its_reservations_are_released(with_store):
    with open_session("work", total=1000) as budget:
        result = run(["seq", "1", "1000"], limit=200, session="work")
        assert budget.remaining == 1000 - result.returned_tokens
        budget.allocate(300)
        left = budget.remaining
    with open_session("work") as again:
        assert again.remaining == left + 300


def test_an_existing_session_is_joined_only_with_its_own_settings(with_store):
    with open_session("work", total=1000), open_session("work", total=1000), open_session("work"):
        pass
    with pytest.raises(UsageError, match="other settings"), open_session("work", total=5):
        pass
    with open_session("tracked") as budget:
        assert budget.remaining is None
    with pytest.raises(UsageError, match="invalid session name"), open_session("no/name"):
        pass
