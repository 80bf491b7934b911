"""A cut leaves the terminal as it was: no colour, no other screen, a visible cursor."""

import re
import sys

import pytest

from tests.support.terminal import Typist, on_a_terminal
from tests.support.tiers import as_nightly
from tokcap.filters.terminal_modes import resets_after
from tokcap.tokens import open_tokenizer

TOKCAP = (sys.executable, "-m", "tokcap")

RED = "import sys; sys.stdout.write('\\x1b[31m' + 'red line\\n' * 400 + '\\x1b[0m')"
FULL_SCREEN = (
    "import sys; sys.stdout.write('\\x1b[?1049h\\x1b[?25l'"
    " + '\\x1b[?1000h\\x1b[?1006h\\x1b[?2004h\\x1b[1;20r\\x1b[31m'"
    " + 'some text on the screen\\n' * 400"
    " + '\\x1b[0m\\x1b[r\\x1b[?2004l\\x1b[?1006l\\x1b[?1000l\\x1b[?25h\\x1b[?1049l')"
)


def tokens_of(shown):
    # The terminal writes a carriage return before each newline.
    return open_tokenizer("cl100k_base").count(shown.replace("\r\n", "\n"))


HOW = [(), ("--stderr", "merge"), ("--keep", "ends"), ("--keep", "tail")]


@pytest.mark.parametrize(
    ("script", "limit", "how"),
    [
        *((FULL_SCREEN, 120, how) for how in HOW),
        (RED, 500, ()),
        *(as_nightly((RED, 120, how)) for how in HOW),
        *(as_nightly((FULL_SCREEN, 500, how)) for how in HOW),
    ],
)
def test_a_cut_is_undone_before_the_mark_and_the_cap_holds(script, limit, how):
    shown = on_a_terminal("-n", str(limit), *how, "--", sys.executable, "-c", script)
    assert "[TRUNCATED]" in shown
    assert resets_after(shown.encode()) == []
    assert tokens_of(shown) <= limit
    if "--keep" not in how:
        payload, mark, _ = shown.rpartition("[TRUNCATED]")
        # The mark is not red, and not on the screen that is left.
        assert resets_after(payload.encode()) == []
        assert mark


def test_at_a_small_limit_the_cap_comes_first():
    shown = on_a_terminal("-n", "12", "--", sys.executable, "-c", FULL_SCREEN)
    assert tokens_of(shown) <= 12


def test_output_that_fits_is_not_changed_on_a_terminal():
    shown = on_a_terminal("-n", "50", "--", "printf", r"\033[31mred")
    assert shown == "\x1b[31mred"


def test_a_cut_in_a_pipe_is_not_undone(tokcap):
    ran = tokcap("-n", "200", "--", sys.executable, "-c", RED)
    assert b"\x1b[0m" not in ran.out
    assert ran.out.startswith(b"\x1b[31mred line\n")


def test_show_undoes_what_it_leaves_open(with_store):
    shown = on_a_terminal("-n", "200", "--", sys.executable, "-c", RED)
    handle = re.search(r"show ([a-z]{4}\d{9})", shown)[1]
    page = on_a_terminal("show", handle, "-n", "200")
    assert resets_after(page.encode()) == []
    assert tokens_of(page) <= 200


def test_a_command_that_is_interrupted_leaves_the_terminal_as_it_was():
    script = "printf '\\033[?1049h\\033[?25l\\033[31mhello\\n'; sleep 60"
    with Typist(*TOKCAP, "-n", "500", "--", "sh", "-c", script) as typist:
        typist.expect("hello")
        typist.type("\x03")
        assert typist.wait() == 130
        assert "\x1b[?1049l" in typist.seen
        assert "\x1b[?25h" in typist.seen
        assert "\x1b[0m" in typist.seen


@pytest.mark.parametrize("limit", [100, 200, 500])
def test_the_cap_holds_on_a_terminal_for_what_was_shown_while_it_ran(limit):
    with Typist(*TOKCAP, "-n", str(limit), "--", sys.executable, "-u", "-c", FULL_SCREEN) as typist:
        assert typist.wait() == 0
        # The first line is what the terminal echoed.
        shown = typist.seen.replace("\r\n", "\n").removeprefix("\n")
    assert resets_after(shown.encode()) == []
    assert tokens_of(shown) <= limit
