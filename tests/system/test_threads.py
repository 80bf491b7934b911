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

def start():
    try:
        return Worker(work).wait()
    except RuntimeError:
        return False

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


@pytest.mark.skipif(sys.platform != "linux", reason="reads the size of the process from /proc")
def test_a_worker_without_memory_says_that_it_cannot_begin():
    ran = subprocess.run(
        [sys.executable, "-c", STARVED], capture_output=True, check=False, timeout=60, text=True
    )
    assert (ran.returncode, ran.stderr) == (SOME_BEGAN, "")


@pytest.mark.parametrize("error", [MemoryError, SystemError])
def test_work_that_runs_out_of_memory_is_not_complete(error, capfd):
    def work():
        raise error

    assert not Worker(work).wait()
    assert capfd.readouterr().err == ""
