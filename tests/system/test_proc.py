"""What is read from `/proc` is true, and `ps` says the same."""

import os
import subprocess
import sys

import pytest

from tokcap.system import proc

pytestmark = pytest.mark.skipif(not proc.has_proc(), reason="there is no /proc")

# Starts a child, tells its id, and waits until its input is closed.
PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
print(child.pid, flush=True)
sys.stdin.read()
child.stdin.close()
child.wait()
"""


@pytest.fixture
def tree():
    """A process and the id of its child. Both end when the process's input is closed."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    yield parent, int(parent.stdout.readline())
    if parent.poll() is None:
        parent.communicate()


def test_a_name_with_parentheses_does_not_confuse_the_reader(tmp_path):
    program = tmp_path / "a) Z 1 (b"
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([program, "60"])
    try:
        assert proc.status_of(process.pid).parent == os.getpid()
    finally:
        process.kill()
        process.wait()


def test_a_process_that_has_ended_has_no_start_time_even_before_it_is_reaped():
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert proc.status_of(process.pid).has_ended
    assert proc.start_ticks(process.pid) is None
    process.wait()
    assert proc.status_of(process.pid) is None
    assert proc.start_ticks(process.pid) is None


@pytest.mark.parametrize("with_proc", [True, False])
def test_descendants_are_found_until_they_end(tree, with_proc, monkeypatch):
    monkeypatch.setattr(proc, "has_proc", lambda: with_proc)
    parent, child = tree
    ids = [parent.pid, child]
    found = [process for process in proc.descendants([os.getpid()]) if process.pid in ids]
    assert [process.pid for process in found] == ids
    assert sorted(process.pid for process in proc.still_running(found)) == sorted(ids)
    parent.communicate()
    assert proc.still_running(found) == []
