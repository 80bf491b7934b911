"""Reports and help on a narrow terminal: no line wraps in the middle of a row."""

import re
import sys

import pytest

from tests.support.terminal import Typist, report_on_a_terminal
from tests.support.tiers import as_nightly

TOKCAP = (sys.executable, "-m", "tokcap")
LONG_COMMAND = ("sh", "-c", "seq 1 9000; : a long command with many words")


def lines_at(columns, *words, **variables):
    shown = report_on_a_terminal(*words, columns=columns, TERM="xterm", **variables)
    return re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()


@pytest.fixture
def used(inside, with_account):
    """Some calls: stored outputs, sessions, a usage log."""
    inside("budget", "start", "demo", "--total", "1000000")
    inside("budget", "start", "a-session-with-quite-a-long-name", "--total", "100")
    inside("budget", "start", "without-limit")
    inside("-n", "50", "--session", "demo", "--", *LONG_COMMAND)
    inside("-n", "50", "--", "seq", "200000")
    inside("-n", "50", "--max-bytes", "20KiB", stdin=b"word\n" * 20_000)
    inside("--", "true")


REPORTS = (
    *("stats", "stats --by day", "hook list", "tokenizer list", "tokenizer show claude"),
    *("--help", "show --help", "budget --help", "count --help"),
)


@pytest.mark.parametrize("columns", [40, as_nightly(50), 60, as_nightly(72)])
def test_no_line_is_wider_than_the_terminal(columns, used):
    for report in REPORTS:
        lines = lines_at(columns, *report.split())
        assert lines
        assert [line for line in lines if len(line) > columns] == []


def test_numbers_of_the_statistics_are_left_out_before_a_row_wraps(used):
    wide, narrow = lines_at(200, "stats", "--by", "command"), lines_at(40, "stats", "--by", "command")
    assert "WITHHELD" in next(line for line in wide if line.startswith("COMMAND"))
    head = next(line for line in narrow if line.startswith("COMMAND"))
    assert head.split()[-1] in ("SAVED", "EXACT", "UNCOUNTED")
    assert "SAVED" in head


def test_a_pipe_has_no_width(used, inside):
    for words in (("spill", "list"), ("budget", "list"), ("stats",)):
        assert max(map(len, inside(*words, env={"COLUMNS": "40"}).out.decode().splitlines())) > 60


def test_the_usage_fits_on_a_narrow_terminal():
    with Typist(*TOKCAP, columns=40) as typist:
        assert typist.wait() == 125
        lines = re.sub(r"\x1b\[[0-9;]*m", "", typist.seen).split("\r\n")
    assert "  tokcap [OPTIONS] [--] COMMAND [ARG]..." in lines
    assert max(map(len, lines)) <= 40
