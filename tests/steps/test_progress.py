"""The progress line: drawn on a terminal during a silent run, and erased before any output."""

import sys

from tests.support.terminal import Typist

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
