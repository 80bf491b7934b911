"""`tokcap stats` adds up what calls showed and withheld, and says what is an estimate."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.program import ROOT
from tests.support.reference import recount
from tests.support.terminal import on_a_terminal
from tests.support.tiers import as_nightly, examples
from tests.support.usage_log import TODAY
from tokcap.usage.report import LoggedCall, Sums

pytestmark = pytest.mark.usefixtures("with_account")

NUMBERS = b"".join(b"%d\n" % number for number in range(1, 501))


def told(inside, *args) -> dict:
    return inside("stats", "-o", "json", *args).json["data"]


def a_line(**fields) -> str:
    known = {"at": 1, "kind": "run", "command": "make", "status": 0, "tokenizer": "cl100k_base"}
    return json.dumps({**known, **fields}) + "\n"


def write_day(directory, day: str, *lines: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / f"{day}.jsonl", "a") as file:
        file.writelines(lines)


def test_sums_are_those_of_a_recount(tokcap, inside):
    ran = [tokcap("-n", "50", "--", "seq", "1", "500"), inside("-n", "70", stdin=NUMBERS + b"x\n")]
    pages = [tokcap("show", "@last", "--token-offset", str(place)) for place in (22, 60)]
    shown = [recount(answer.out) for answer in ran]
    read = sum(recount(page.out) for page in pages)
    withheld = recount(NUMBERS) + recount(NUMBERS + b"x\n") - sum(shown)
    data = told(inside)
    (total,) = data["totals"]
    assert (total["runs"], total["shows"]) == (2, 2)
    assert total["shown_tokens"] == sum(shown) + read
    assert total["withheld_tokens"] == withheld
    assert total["saved_tokens"] == withheld - read
    commands = {row["command"]: row for row in data["commands"]}
    assert commands["seq"]["saved_tokens"] == recount(NUMBERS) - shown[0]
    # The store does not record a command for standard input; the line of the run does.
    assert (commands["(stdin)"]["shows"], commands["seq"]["shows"]) == (2, 0)


def test_the_estimated_total_of_a_large_output_is_in_the_sums_and_called_so(inside):
    data = b"some words\n" * 9000
    ran = inside("-n", "200", "-o", "json", stdin=data)
    estimate = ran.json["meta"]["total_tokens_estimate"]
    page = recount(inside("show", "@last").out)
    (total,) = told(inside)["totals"]
    assert (total["estimated_runs"], total["shown_tokens"]) == (1, recount(ran.out) + page)
    assert total["withheld_tokens"] == estimate - recount(ran.out)
    assert total["saved_tokens"] == total["withheld_tokens"] - page
    text = inside("stats").out.decode()
    assert f"withheld about {total['withheld_tokens']:,}, saved about {total['saved_tokens']:,}" in text
    assert "estimated: the totals of 1 run with a large output" in text


def test_sessions_have_their_own_rows(inside):
    inside("budget", "start", "nightly", "--total", "9000")
    inside("--session", "nightly", "-n", "50", stdin=NUMBERS)
    inside("-n", "50", stdin=NUMBERS)
    data = told(inside, "--by", "session")
    assert {row["session"]: row["runs"] for row in data["sessions"]} == {"nightly": 1, "(none)": 1}
    assert data.keys() == {"since", "totals", "sessions", "broken_lines"}
    status = inside("budget", "status", "nightly", "-o", "json").json["data"]
    (row,) = (row for row in data["sessions"] if row["session"] == "nightly")
    assert row["shown_tokens"] == status["used"]


def test_since_takes_days_and_weeks_today_included(inside, with_account):
    for days in range(20):
        day = time.strftime("%Y-%m-%d", time.localtime(time.time() - days * 86400))
        write_day(with_account, day, a_line())
    runs = {since: told(inside, "--since", since)["totals"][0]["runs"] for since in ("1d", "7d", "2w")}
    assert runs == {"1d": 1, "7d": 7, "2w": 14}
    assert told(inside, "--since", TODAY)["totals"][0]["runs"] == 1
    assert told(inside, "--since", "2001-02-03")["totals"][0]["runs"] == 20
    assert len(told(inside, "--by", "day")["days"]) == 20


@pytest.mark.parametrize("since", ["yesterday", "7", "0d", "-7d", "2026-13-01", "7m", "9" * 99 + "d"])
def test_a_bad_since_is_one_line_and_status_2(inside, since):
    ran = inside("stats", f"--since={since}")
    assert (ran.status, ran.out) == (2, b"")
    assert ran.err.count(b"\n") == 1
    assert b"--since" in ran.err


def test_an_empty_log_is_a_friendly_line(inside, with_account):
    ran = inside("stats")
    assert (ran.status, ran.err) == (0, b"")
    assert ran.out.startswith(b"no calls were logged yet")
    assert inside("stats", "--since", "3d").out.startswith(b"no calls were logged since 2")
    assert told(inside)["totals"] == []
    assert not with_account.exists()


def test_broken_lines_are_counted_and_left_out(inside, with_account):
    write_day(with_account, TODAY, a_line(), '{"kind":"run","comm\n', "\0\0\n", "[]\n", a_line(total=-1))
    write_day(with_account, TODAY, a_line(kind="walk"), a_line(shown=1.5), a_line(tokenizer=7), a_line())
    # The last line is still being written.
    write_day(with_account, TODAY, a_line()[:30])
    data = told(inside)
    assert (data["totals"][0]["runs"], data["broken_lines"]) == (2, 7)
    assert b"skipped in the usage log: 7 damaged lines" in inside("stats").out
    write_day(with_account, TODAY, a_line()[30:])
    data = told(inside)
    assert (data["totals"][0]["runs"], data["broken_lines"]) == (3, 7)


def test_no_link_is_followed(inside, with_account, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    write_day(elsewhere, TODAY, a_line())
    with_account.parent.mkdir()
    with_account.symlink_to(elsewhere)
    ran = inside("stats")
    assert (ran.status, ran.err.count(b"\n")) == (125, 1)


@pytest.mark.parametrize("columns", [80, 132])
def test_the_table_fits_on_a_terminal_and_shows_no_control_characters(with_account, columns):
    names = ["ls", "\x1b[31mred", "long" * 40, *(f"c{number}" for number in range(20))]
    write_day(with_account, TODAY, *(a_line(command=name, shown=3, total=10**8) for name in names))
    text = on_a_terminal("stats", columns=columns, TERM="xterm")
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= columns
    assert len(text.splitlines()) >= 3 + 23
    assert "SAVED" in text


needs_matplotlib = pytest.mark.skipif(
    find_spec("matplotlib") is None,
    reason="the package matplotlib is not installed: pip install '.[nightly]'",
)


@needs_matplotlib
@pytest.mark.parametrize(
    ("name", "begins"), [as_nightly(("x.png", b"\x89PNG\r\n")), ("x.SVG", b"<?xml")], ids=str
)
def test_a_plot_is_written(tokcap, with_account, tmp_path, name, begins):
    """A process of its own draws, because matplotlib takes much memory."""
    ran = tokcap("stats", "--since", "1d", "--plot", str(tmp_path / name))
    assert ran.out.startswith(b"no calls were logged since 2")
    assert not (tmp_path / name).exists()
    write_day(
        with_account, "2026-01-01", a_line(shown=3, total=8), a_line(command="co$t_{$", shown=9, total=8)
    )
    ran = tokcap("stats", "--plot", str(tmp_path / name))
    assert (ran.status, ran.err) == (0, b"")
    picture = (tmp_path / name).read_bytes()
    assert picture.startswith(begins)
    if name == "x.SVG":
        assert b"co$t_{$" in picture
        assert b"make" in picture
        tokcap("stats", "--plot", str(tmp_path / "again.svg"))
        assert (tmp_path / "again.svg").read_bytes() == picture
        ran = tokcap("stats", "--plot", str(tmp_path / "nowhere" / "x.png"))
        assert (ran.status, ran.out, ran.err.count(b"\n")) == (125, b"", 1)


def test_without_matplotlib_a_plot_is_refused_with_the_line_that_helps(with_account, tmp_path):
    write_day(with_account, TODAY, a_line())
    code = "import sys; sys.modules['matplotlib'] = None; from tokcap.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "stats", "--plot", str(tmp_path / "x.png"), "-o", "json"],
        capture_output=True,
        check=False,
        cwd=ROOT,
        timeout=60,
    )
    assert done.returncode == 125
    assert json.loads(done.stdout)["error"]["code"] == "PACKAGE_MISSING"
    assert done.stderr.startswith(b"tokcap: --plot needs matplotlib, which is not installed; run: ")
    assert done.stderr.endswith(b"pip install 'matplotlib>=3.8'\n")
    assert not (tmp_path / "x.png").exists()


CALLS = st.lists(
    st.tuples(
        st.sampled_from(["run", "show"]),
        st.none() | st.integers(0, 50),
        st.none() | st.integers(0, 90),
        st.booleans(),
    ),
    max_size=25,
)


@given(CALLS)
@examples(100)
def test_saved_is_what_there_was_less_what_was_paid(calls):
    """For any order of runs and shows."""
    sums = Sums("command", "")
    for kind, shown, total, is_estimated in calls:
        sums.add(LoggedCall(TODAY, kind, "t", "x", "", "aaaa", shown, total, is_estimated))
    rows = sums.report().rows
    assert len(rows) == bool(calls)
    runs = [call for call in calls if call[0] == "run" and None not in call]
    shows = [shown for kind, shown, _, _ in calls if kind == "show" and shown is not None]
    for row in rows:
        assert row.withheld_tokens == sum(total - shown for _, shown, total, _ in runs)
        assert row.saved_tokens == row.withheld_tokens - sum(shows)
        assert row.shown_tokens == sum(shown for _, shown, _, _ in runs) + sum(shows)
        assert row.estimated_runs == sum(is_estimated for *_, is_estimated in runs)
        assert row.uncounted_runs == sum(call[0] == "run" for call in calls) - len(runs)
