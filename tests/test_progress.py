"""A line for people who wait, and for nobody else."""

import sys

from tests.shell.terminal import Typist

TOKCAP = (sys.executable, "-m", "tokcap")


def test_who_waits_at_a_terminal_sees_that_something_happens_and_then_only_the_answer():
    script = "sleep 3.2; echo '{\"a\": 1}'"
    with Typist(*TOKCAP, "-n", "500", "--", "sh", "-c", script) as typist:
        typist.expect(" s, 0 bytes")
        assert typist.wait() == 0
        # The line is taken away before the answer comes.
        assert typist.seen.rpartition("\x1b[K")[2].strip() == '{"a": 1}'


def test_who_sees_output_sees_no_line():
    with Typist(*TOKCAP, "-n", "500", "--", "sh", "-c", "echo building; sleep 3.2; echo done") as typist:
        assert typist.wait() == 0
        assert "tokcap:" not in typist.seen


def test_a_password_prompt_is_left_alone():
    script = "printf 'Password: ' > /dev/tty; stty -echo < /dev/tty; sleep 3.2; stty echo < /dev/tty"
    with Typist(*TOKCAP, "-n", "500", "--", "sh", "-c", script) as typist:
        assert typist.wait() == 0
        assert "tokcap:" not in typist.seen


def test_where_nobody_looks_nothing_is_drawn(tokcap):
    ran = tokcap("-n", "500", "--", "sh", "-c", "sleep 2.6; echo '[1]'")
    assert (ran.out, ran.err) == (b"[1]\n", b"")


def test_stderr_that_is_passed_on_has_a_line_of_its_own():
    script = "sleep 2.6; echo trouble >&2; sleep 1; echo '{}'"
    with Typist(*TOKCAP, "--token-count", "--", "sh", "-c", script) as typist:
        assert typist.wait() == 0
        assert "bytestrouble" not in typist.seen
        assert typist.seen.rpartition("\x1b[K")[2].splitlines()[0] == "trouble"
