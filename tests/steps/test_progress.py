"""The progress line: drawn on a terminal during a silent run, and erased before any output."""

import os
import re
import sys
import time

import pytest

from tests.support.screen import WrappingScreen
from tests.support.terminal import PATIENCE_SECONDS, Typist

TOKCAP = (sys.executable, "-m", "tokcap")
# The same, with a line that is drawn early and often.
EARLY = (
    sys.executable,
    "-c",
    "from tokcap.__main__ import main; from tokcap.steps.progress import ProgressLine;"
    "ProgressLine.first_draw_seconds, ProgressLine.redraw_seconds = 0.1, 0.1; main()",
)


class Gate:
    """Where a command waits until the test lets it continue."""

    def __init__(self, path) -> None:
        os.mkfifo(path)
        self._path = path
        self.wait = f"cat {path}"

    def open(self) -> None:
        os.close(os.open(self._path, os.O_WRONLY))


@pytest.fixture
def gate(tmp_path):
    return Gate(tmp_path / "gate")


@pytest.fixture
def slow(gate):
    """A script that holds back its output, because it may be JSON, while it waits."""
    return f"printf '['; head -c 300000 /dev/zero | tr '\\0' '7'; {gate.wait}; echo ']'"


def test_the_line_is_drawn_during_a_silent_run_and_erased_before_the_answer(gate):
    script = f"{gate.wait}; echo '{{\"a\": 1}}'"
    with Typist(*TOKCAP, "-n", "500", "--", "sh", "-c", script) as typist:
        typist.expect(" s, 0 bytes")
        gate.open()
        assert typist.wait() == 0
        # The line is erased before the answer.
        assert typist.seen.rpartition("\x1b[K")[2].strip() == '{"a": 1}'


def test_no_line_is_drawn_when_output_is_passed_on():
    with Typist(*EARLY, "-n", "500", "--", "sh", "-c", "echo building; sleep 1; echo done") as typist:
        assert typist.wait() == 0
        assert "tokcap:" not in typist.seen


def test_no_line_is_drawn_over_a_password_prompt():
    # A line that was begun before is out before the prompt.
    script = "stty -echo < /dev/tty; sleep 0.3; printf 'Password: ' > /dev/tty; sleep 1"
    with Typist(*EARLY, "-n", "500", "--", "sh", "-c", script) as typist:
        typist.expect("Password: ")
        assert typist.wait() == 0
        assert "tokcap:" not in typist.seen


def test_no_line_is_drawn_without_a_terminal(tokcap):
    ran = tokcap("-n", "500", "--", "sh", "-c", "sleep 2.2; echo '[1]'")
    assert (ran.out, ran.err) == (b"[1]\n", b"")


def test_the_line_is_erased_before_stderr_is_passed_on(gate):
    script = f"{gate.wait}; echo trouble >&2; echo '{{}}'"
    with Typist(*EARLY, "--token-count", "--", "sh", "-c", script) as typist:
        typist.expect(" s, 0 bytes")
        gate.open()
        assert typist.wait() == 0
        assert "bytestrouble" not in typist.seen
        assert typist.seen.rpartition("\x1b[K")[2].splitlines()[0] == "trouble"


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_the_line_never_wraps_and_leaves_nothing_behind(columns, gate, slow):
    screen = WrappingScreen(columns)
    with Typist(*EARLY, "-n", "40", "--", "sh", "-c", slow, columns=columns) as typist:
        until = time.monotonic() + PATIENCE_SECONDS
        while len(re.findall(" s, (?:293K|300,001)", typist.read())) < 3:
            assert time.monotonic() < until, typist.seen
        gate.open()
        assert typist.wait() == 0
        shown = typist.seen
    for part in shown.split("\r\x1b[K"):
        screen.write(part)
        assert part.startswith("[") or len(part) < columns
        screen.write("\r\x1b[K")
    assert not any(" s, " in line for line in screen.lines)
