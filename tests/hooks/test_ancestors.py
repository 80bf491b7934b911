"""The flags of the processes above are seen, or it is known that they are not."""

import os
import subprocess
import sys

import pytest

from tokcap.system import proc

needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self"), reason="there is no /proc")

CODE = "from tokcap.hooks.ancestors import command_lines; print(command_lines())"


def test_the_words_of_all_processes_above_are_seen():
    between = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CODE!r}])"
    done = subprocess.run(
        [sys.executable, "-c", between, "--a-flag=of mine"], capture_output=True, timeout=60, check=True
    )
    assert b"'--a-flag=of mine'" in done.stdout


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"claude\0--settings\0x\0", ["claude", "--settings", "x"]),
        (b"claude\0", ["claude"]),
        (b"claude\0\0\0\0\0\0", None),
        (b"claude", None),
        (b"", None),
        (b"a\xff\0", ["a\ufffd"]),
    ],
)
def test_a_process_that_hides_its_words_is_found_out(line, words):
    assert proc.words_of(line) == words


@needs_proc
def test_where_ps_has_to_be_asked_it_says_the_same():
    process = os.getpid()
    parent, words = proc.parent_and_command_line_by_ps(process)
    assert (parent, words) == (os.getppid(), " ".join(proc.parent_and_command_line(process)[1]).split())


@needs_proc
def test_a_process_that_is_gone_is_no_ancestor():
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert not proc.is_own_process(gone.pid)
    assert proc.parent_and_command_line(gone.pid) == (0, None)
