"""The progress line: drawn on a terminal during a silent run, and erased before any output."""

import sys

import pytest

from tests.support.screen import WrappingScreen
from tests.support.terminal import Typist
from tokcap.steps.redrawn_line import clear_line

TOKCAP = (sys.executable, "-m", "tokcap")


def test_the_line_is_drawn_during_a_silent_run_and_erased_before_the_answer():
    script = "sleep 3.2; echo '{\"a\": 1}'"
    with Typist(*TOKCAP, "-n", "500", "--", "sh", "-c", script) as typist:
        typist.expect(" s, 0 bytes")
        assert typist.wait() == 0
        # The line is erased before the answer.
        assert typist.seen.rpartition("\x1b[K")[2].strip() == '{"a": 1}'


def test_no_line_is_drawn_when_output_is_passed_on():
    with Typist(*TOKCAP, "-n", "500", "--", "sh", "-c", "echo building; sleep 3.2; echo done") as typist:
        assert typist.wait() == 0
        assert "tokcap:" not in typist.seen


def test_no_line_is_drawn_over_a_password_prompt():
    script = "printf 'Password: ' > /dev/tty; stty -echo < /dev/tty; sleep 3.2; stty echo < /dev/tty"
    with Typist(*TOKCAP, "-n", "500", "--", "sh", "-c", script) as typist:
        assert typist.wait() == 0
        assert "tokcap:" not in typist.seen


def test_no_line_is_drawn_without_a_terminal(tokcap):
    ran = tokcap("-n", "500", "--", "sh", "-c", "sleep 2.6; echo '[1]'")
    assert (ran.out, ran.err) == (b"[1]\n", b"")


def test_the_line_is_erased_before_stderr_is_passed_on():
    script = "sleep 2.6; echo trouble >&2; sleep 1; echo '{}'"
    with Typist(*TOKCAP, "--token-count", "--", "sh", "-c", script) as typist:
        assert typist.wait() == 0
        assert "bytestrouble" not in typist.seen
        assert typist.seen.rpartition("\x1b[K")[2].splitlines()[0] == "trouble"


# Holds back its output, because it may be JSON, while it runs.
SLOW = "printf '['; head -c 300000 /dev/zero | tr '\\0' '7'; sleep 4; echo ']'"


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_the_line_never_wraps_and_leaves_nothing_behind(columns):
    screen = WrappingScreen(columns)
    with Typist(*TOKCAP, "-n", "40", "--", "sh", "-c", SLOW, columns=columns) as typist:
        typist.expect(" s")
        assert typist.wait() == 0
        shown = typist.seen
    for part in shown.split("\r\x1b[K"):
        screen.write(part)
        assert part.startswith("[") or len(part) < columns
        screen.write("\r\x1b[K")
    assert not any(" s, " in line and "tokens" in line for line in screen.lines)


def test_the_line_says_the_size_and_the_tokens_that_the_tokenizer_counts():
    # Digits are three to a token, not four.
    with Typist(*TOKCAP, "-n", "40", "--", "sh", "-c", SLOW) as typist:
        typist.expect("300,001 bytes, about 100k tokens")
        assert typist.wait() == 0


def test_the_line_says_the_true_size_of_an_output_that_is_stored_in_part():
    with Typist(*TOKCAP, "-n", "40", "--max-bytes", "10KiB", "--", "sh", "-c", SLOW) as typist:
        typist.expect("300,001 bytes")
        assert typist.wait() == 0


def test_a_terminal_that_becomes_narrower_keeps_no_part_of_the_line():
    screen = WrappingScreen(80)
    screen.write("$ tokcap\r\n")
    screen.write("tokcap: 2 s, 300,001 bytes, about 100k tokens")
    screen.narrow(20)
    assert len(screen.lines) == 4
    screen.write(clear_line(45, 20).decode())
    screen.write("3 s, ~100k tokens")
    assert screen.lines == ["$ tokcap", "3 s, ~100k tokens"]


def test_the_line_follows_the_width_of_the_terminal_while_it_runs():
    with Typist(*TOKCAP, "-n", "40", "--", "sh", "-c", SLOW) as typist:
        typist.expect("about 100k tokens")
        typist.forget()
        typist.resize(24, 20)
        typist.expect("~100k tokens")
        assert typist.wait() == 0
