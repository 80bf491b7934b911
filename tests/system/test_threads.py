"""Threads that cannot begin for lack of memory, or run out of it: nobody waits for them forever."""

import subprocess
import sys

import pytest

from tokcap.system.threads import Worker

# Starts threads in address spaces that have room for a stack and for a few pages more.
STARVED = """
import _thread, resource, sys
from tokcap.system.threads import Worker

STACK_BYTES, PAGE_BYTES = 1 << 18, 4096
_thread.stack_size(STACK_BYTES)

def work():
    pass

def start_worker():
    try:
        return Worker(work).wait()
    except RuntimeError:
        return False

def start_plain_thread():
    ended = _thread.allocate_lock()
    ended.acquire()
    def run():
        ended.release()
    try:
        _thread.start_new_thread(run, ())
    except RuntimeError:
        return False
    return ended.acquire(timeout=0.2)

start = {"worker": start_worker, "plain": start_plain_thread}[sys.argv[1]]
begun = []
unlimited = resource.getrlimit(resource.RLIMIT_AS)[1]
for pages in range(24):
    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * PAGE_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (size + STACK_BYTES + pages * PAGE_BYTES, unlimited))
    begun.append(start())
    resource.setrlimit(resource.RLIMIT_AS, (unlimited, unlimited))
sys.exit(10 * (not all(begun)) + any(begun))
"""
SOME_BEGAN = 11


def starved(kind: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", STARVED, kind], capture_output=True, check=False, timeout=60, text=True
    )


@pytest.mark.skipif(sys.platform != "linux", reason="reads the size of the process from /proc")
class TestWithoutMemory:
    def test_a_plain_thread_ends_before_its_first_line(self):
        """This shows that the next test tests something."""
        ran = starved("plain")
        assert ran.returncode == SOME_BEGAN
        assert "Exception ignored in thread started by" in ran.stderr

    def test_a_worker_says_that_it_cannot_begin(self):
        ran = starved("worker")
        assert (ran.returncode, ran.stderr) == (SOME_BEGAN, "")


def test_the_work_has_begun_when_the_worker_is_created_and_is_complete_after_waiting():
    seen = []
    worker = Worker(lambda: seen.append("work"))
    assert worker.wait()
    assert seen == ["work"]
    assert worker.wait()


@pytest.mark.parametrize("error", [MemoryError, SystemError])
def test_work_that_runs_out_of_memory_is_not_complete(error, capfd):
    def work():
        raise error

    assert not Worker(work).wait()
    assert capfd.readouterr().err == ""


def test_too_many_threads_are_a_runtime_error(monkeypatch):
    def refuse(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("tokcap.system.threads.start_new_thread", refuse)
    with pytest.raises(RuntimeError, match="can't start"):
        Worker(lambda: None)
