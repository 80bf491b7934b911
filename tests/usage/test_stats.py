"""`tokcap stats` adds up exact counts, says what is not exact, and reads every line of the log once."""

from __future__ import annotations

import json
import os
import re
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
from tests.support.tiers import as_nightly, examples, nightly
from tests.support.usage_log import TODAY
from tokcap.cli.commands.stats import first_day_of
from tokcap.cli.usage_history import read_history
from tokcap.environment import Environment
from tokcap.usage import history
from tokcap.usage.log_reader import LoggedCall
from tokcap.usage.sums import FIELDS, POSITIONS, Sums

pytestmark = pytest.mark.usefixtures("with_account")

NUMBERS = b"".join(b"%d\n" % number for number in range(1, 501))


def told(inside, *args) -> dict:
    return inside("stats", "-o", "json", *args).json["data"]


def a_line(**fields) -> str:
    known = {"at": 1, "kind": "run", "command": "make", "status": 0, "tokenizer": "cl100k_base"}
    return json.dumps({**known, "bytes": 9, "shown_bytes": 9, **fields}) + "\n"


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
    (total,) = told(inside)["totals"]
    assert (total["runs"], total["shows"]) == (2, 2)
    assert total["shown_tokens"] == sum(shown) + read
    assert total["withheld_tokens"] == withheld
    assert total["saved_tokens"] == withheld - read
    commands = {row["command"]: row for row in told(inside, "--by", "command")["commands"]}
    assert commands["seq"]["saved_tokens"] == recount(NUMBERS) - shown[0]
    # The store does not record a command for standard input; the line of the run does.
    assert (commands["(stdin)"]["shows"], commands["seq"]["shows"]) == (2, 0)


def test_a_run_that_cost_more_than_it_saved_is_below_zero(inside):
    ran = inside("-n", "300", "-o", "json", stdin=b"hi\n")
    data = told(inside)
    expected = recount(b"hi\n") - recount(ran.out)
    assert expected < 0
    (day,) = data["days"]
    assert day["saved_tokens"] == day["withheld_tokens"] == expected
    assert (day["net_loss_outputs"], day["net_loss_tokens"]) == (1, -expected)
    text = inside("stats").out.decode()
    assert f"1 output cost more than was saved: {-expected} tokens more than without tokcap" in text
    assert f"{expected:,}  ---" in text


def test_reading_more_than_all_of_it_is_below_zero(inside):
    first = inside("-n", "40", stdin=NUMBERS)
    whole = [inside("show", "@last", "-n", "5000") for _ in range(2)]
    (total,) = told(inside)["totals"]
    paid = sum(recount(answer.out) for answer in (first, *whole))
    assert total["saved_tokens"] == recount(NUMBERS) - paid < 0
    assert (total["net_loss_outputs"], total["net_loss_tokens"]) == (1, paid - recount(NUMBERS))


def test_an_estimate_is_in_no_sum_until_somebody_has_counted(inside):
    data = b"some words\n" * 9000
    shown = recount(inside("-n", "50", stdin=data).out)
    page = recount(inside("show", "@last").out)
    (total,) = told(inside)["totals"]
    assert (total["inexact_runs"], total["withheld_tokens"], total["saved_tokens"]) == (1, 0, 0)
    assert total["shown_tokens"] == shown + page
    assert b"not exact: 1 run" in inside("stats").out
    number = recount(inside("show", "@last", "--token-count").out)
    (total,) = told(inside)["totals"]
    assert (total["inexact_runs"], total["withheld_tokens"]) == (0, recount(data) - shown)
    assert total["saved_tokens"] == recount(data) - shown - page - number
    # The second run of the same output has a known total at once.
    inside("-n", "50", stdin=data)
    (total,) = told(inside)["totals"]
    assert (total["inexact_runs"], total["withheld_tokens"]) == (0, 2 * (recount(data) - shown))


def test_what_was_estimated_and_is_stored_no_more_stays_not_exact(inside):
    inside("-n", "50", stdin=b"some words\n" * 9000)
    inside("spill", "rm", "@last")
    for _ in range(2):
        (total,) = told(inside)["totals"]
        assert (total["inexact_runs"], total["saved_tokens"]) == (1, 0)


def test_what_was_not_counted_is_told_in_bytes(inside):
    inside("-n", "50", stdin=b"hello\n")
    inside(stdin=b"hello again\n")
    (total,) = told(inside)["totals"]
    assert (total["uncounted_runs"], total["uncounted_bytes"], total["shown_tokens"]) == (2, 18, 0)
    assert b"not counted: 2 runs that passed on 18 bytes" in inside("stats").out


def test_sessions_have_their_own_rows(inside):
    inside("budget", "start", "nightly", "--total", "9000")
    inside("--session", "nightly", "-n", "50", stdin=NUMBERS)
    inside("-n", "50", stdin=NUMBERS)
    data = told(inside, "--by", "session")
    assert {row["session"]: row["runs"] for row in data["sessions"]} == {"nightly": 1, "(none)": 1}
    assert "days" not in data
    assert "commands" not in data
    status = inside("budget", "status", "nightly", "-o", "json").json["data"]
    (row,) = (row for row in data["sessions"] if row["session"] == "nightly")
    assert row["shown_tokens"] == status["used"]


def test_tokens_of_two_tokenizers_are_not_added_up(inside):
    for name in ("cl100k_base", "approx"):
        inside("-n", "50", "--tokenizer", name, stdin=NUMBERS)
    data = told(inside)
    assert [(row["tokenizer"], row["runs"]) for row in data["totals"]] == [("approx", 1), ("cl100k_base", 1)]
    assert len(data["days"]) == 2
    text = inside("stats").out.decode()
    assert "counted with approx" in text
    assert "counted with cl100k_base" in text


def test_since_takes_days_and_weeks_today_included(inside, with_account):
    for days in range(20):
        day = time.strftime("%Y-%m-%d", time.localtime(time.time() - days * 86400))
        write_day(with_account, day, a_line())
    runs = {since: told(inside, "--since", since)["totals"][0]["runs"] for since in ("1d", "7d", "2w")}
    assert runs == {"1d": 1, "7d": 7, "2w": 14}
    assert told(inside, "--since", TODAY)["totals"][0]["runs"] == 1
    assert told(inside, "--since", "2001-02-03")["totals"][0]["runs"] == 20
    assert len(told(inside)["days"]) == 20


@pytest.fixture
def new_york(monkeypatch):
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("today", "first"), [((2026, 3, 10, 0, 30), "2026-03-04"), ((2026, 11, 4, 23, 30), "2026-10-29")]
)
def test_a_week_has_seven_days_where_clocks_are_changed_too(new_york, today, first):
    now = time.mktime((*today, 0, 0, 0, -1))
    assert first_day_of("7d", now) == first
    assert first_day_of("9999w", now) <= "1970-01-01"


@pytest.mark.parametrize(
    "since", ["yesterday", "7", "0d", "-7d", "2026-13-01", "2026-1-1", "7m", "9" * 99 + "d"]
)
def test_a_bad_since_is_one_line_and_status_2(inside, since):
    ran = inside("stats", f"--since={since}")
    assert (ran.status, ran.out) == (2, b"")
    assert ran.err.count(b"\n") == 1
    assert b"--since" in ran.err


@pytest.mark.parametrize("args", [["--by", "week"], ["--plot", "x.pdf"], ["extra"], ["--nonsense"]], ids=str)
def test_bad_usage_is_one_line_and_status_2(inside, args):
    ran = inside("stats", *args)
    assert (ran.status, ran.out, ran.err.count(b"\n")) == (2, b"", 1)


def test_an_empty_account_is_a_friendly_line(inside, with_account):
    ran = inside("stats")
    assert (ran.status, ran.err) == (0, b"")
    assert ran.out.startswith(b"no calls were logged yet")
    assert inside("stats", "--since", "3d").out.startswith(b"no calls were logged since 2")
    assert told(inside)["totals"] == []
    assert not with_account.exists()


def test_broken_lines_are_counted_and_left_out(inside, with_account):
    write_day(with_account, TODAY, a_line(), '{"kind":"run","comm\n', "\0\0\n", "[]\n", a_line(bytes=-1))
    write_day(with_account, TODAY, a_line(kind="walk"), a_line(shown=1.5), a_line(tokenizer=7), a_line())
    # The last line is still being written.
    write_day(with_account, TODAY, a_line()[:30])
    data = told(inside)
    assert (data["totals"][0]["runs"], data["broken_lines"]) == (2, 7)
    assert b"skipped in the usage log: 7 damaged lines" in inside("stats").out
    write_day(with_account, TODAY, a_line()[30:])
    data = told(inside)
    assert (data["totals"][0]["runs"], data["broken_lines"]) == (3, 7)


def test_a_torn_line_takes_no_other_along(inside, with_account):
    write_day(with_account, TODAY, a_line()[:30])
    inside("-n", "9", stdin=b"hello")
    data = told(inside)
    assert (data["totals"][0]["runs"], data["broken_lines"]) == (1, 1)


def test_lines_that_were_read_are_never_read_again(inside, with_account):
    write_day(with_account, "2026-01-01", *[a_line(shown=3, total=8)] * 1000)
    write_day(with_account, TODAY, *[a_line(shown=3, total=8)] * 1000)
    before = told(inside)
    for path in with_account.glob("*.jsonl"):
        path.write_bytes(b"?\n" * (path.stat().st_size // 2) + b"\n" * (path.stat().st_size % 2))
    assert told(inside) == before
    write_day(with_account, TODAY, a_line(shown=3, total=8))
    (total,) = told(inside)["totals"]
    assert (total["runs"], total["saved_tokens"]) == (2001, 2001 * 5)


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b'{"schema_version":1}', b'{"schema_version":99}', b"7"]
)
def test_damaged_sums_are_made_again(inside, with_account, damage):
    write_day(with_account, TODAY, *[a_line(shown=3, total=8)] * 9)
    before = told(inside)
    (with_account / "sums.json").write_bytes(damage)
    assert told(inside) == before


def places_in(value, path=()):
    """Every position in a document, starting with its root."""
    yield path
    for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(inner, dict | list):
            yield from places_in(inner, (*path, step))
        else:
            yield (*path, step)


def with_another(document, path, value):
    if not path:
        return value
    step, *rest = path
    changed = document.copy()
    changed[step] = with_another(document[step], rest, value)
    return changed


def test_sums_with_anything_else_in_any_place_fail_nobody(with_account):
    def read():
        read_history(Environment(dict(os.environ)))

    write_day(with_account, TODAY, a_line(shown=3, total=8, handle="1234"), "?\n")
    write_day(with_account, TODAY, a_line(shown=3, stderr=0, handle="abcd"))
    (with_account.parent / "spill/ab/abcd").mkdir(parents=True)
    (with_account.parent / "spill/ab/abcd/out").write_bytes(b"1\n")
    read()
    whole = json.loads((with_account / "sums.json").read_bytes())
    assert all(whole.values()), "there is something to be damaged everywhere"
    write_day(with_account, TODAY, a_line(shown=3, total=8, handle="1234"))
    write_day(with_account, TODAY, a_line(kind="show", shown=1, handle="abcd"))
    for path in places_in(whole):
        for value in (None, -1, 1.5, "", "x", [], {}):
            (with_account / "sums.json").write_text(json.dumps(with_another(whole, path, value)))
            read()


def test_sums_outlive_their_lines(inside, with_account):
    write_day(with_account, "2026-01-01", a_line(shown=3, total=8))
    before = told(inside)
    (with_account / "2026-01-01.jsonl").unlink()
    assert told(inside) == before


def test_a_day_that_was_shortened_is_counted_anew(inside, with_account):
    write_day(with_account, TODAY, *[a_line(shown=3, total=8)] * 9)
    told(inside)
    (with_account / f"{TODAY}.jsonl").write_text(a_line(shown=3, total=8))
    assert told(inside)["totals"][0]["runs"] == 1


def test_an_account_that_cannot_be_written_is_read_all_the_same(inside, with_account):
    write_day(with_account, TODAY, a_line(shown=3, total=8))
    (with_account / "sums.json").mkdir()
    for _ in range(2):
        assert told(inside)["totals"][0]["runs"] == 1


def test_a_day_that_was_full_says_that_it_is_not_complete(inside, with_account, monkeypatch):
    write_day(with_account, TODAY, a_line())
    monkeypatch.setattr(history, "LARGEST_DAY_BYTES", 10)
    assert f"{TODAY} is full: later calls of that day are not included\n".encode() in inside("stats").out
    assert told(inside)["full_days"] == [TODAY]


def test_days_of_more_than_a_year_ago_are_forgotten(inside, with_account):
    write_day(with_account, "2001-01-01", a_line())
    write_day(with_account, TODAY, a_line())
    told(inside)
    (with_account / "2001-01-01.jsonl").unlink()
    assert [row["day"] for row in told(inside)["days"]] == [TODAY]


def test_no_link_is_followed(inside, with_account, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    write_day(elsewhere, TODAY, a_line())
    with_account.parent.mkdir()
    with_account.symlink_to(elsewhere)
    ran = inside("stats")
    assert (ran.status, ran.err.count(b"\n")) == (125, 1)
    assert [path.name for path in elsewhere.iterdir()] == [f"{TODAY}.jsonl"]


def test_jsonl_is_a_line_for_each_row(inside, with_account):
    write_day(with_account, TODAY, a_line(shown=3, total=8), a_line(command="ls", shown=3, total=4))
    *rows, last = map(json.loads, inside("stats", "-o", "jsonl").out.splitlines())
    assert [next(iter(row)) for row in rows] == ["day", "command", "command", "session"]
    assert list(last) == ["meta"]


def test_the_text_is_as_wide_as_80_columns_and_has_no_colours_without_a_terminal(inside, with_account):
    names = ["ls", "\x1b[31mred", "long" * 40, *(f"c{number}" for number in range(20))]
    write_day(with_account, TODAY, *(a_line(command=name, shown=3, total=10**8) for name in names))
    text = inside("stats").out.decode()
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert "and 13 more: tokcap stats --by command" in text
    assert len(inside("stats", "--by", "command").out.splitlines()) > 23


@pytest.mark.parametrize("columns", [40, 132])
@pytest.mark.parametrize("no_color", ["", "1"])
def test_on_a_terminal_it_fits_and_colours_are_a_choice(with_account, columns, no_color):
    write_day(with_account, TODAY, a_line(shown=3, total=800), a_line(command="ls", shown=300, total=8))
    text = on_a_terminal("stats", columns=columns, NO_COLOR=no_color, TERM="xterm")
    assert ("\x1b[32m" in text, "\x1b[31m" in text) == ((not no_color,) * 2)
    plain = re.sub(r"\x1b\[\d*m", "", text)
    table = plain[plain.index("DAY") :]
    assert max(map(len, table.splitlines())) <= columns


# A process of its own draws, because matplotlib takes much memory.
needs_matplotlib = pytest.mark.skipif(
    find_spec("matplotlib") is None,
    reason="the package matplotlib is not installed: pip install '.[nightly]'",
)


@needs_matplotlib
@pytest.mark.parametrize(
    ("name", "begins"), [as_nightly(("x.png", b"\x89PNG\r\n")), ("x.SVG", b"<?xml")], ids=str
)
def test_a_plot_is_written(tokcap, with_account, tmp_path, name, begins):
    ran = tokcap("stats", "--since", "1d", "--plot", str(tmp_path / name))
    assert ran.out.startswith(b"no calls were logged since 2")
    assert not (tmp_path / name).exists()
    write_day(
        with_account, "2026-01-01", a_line(shown=3, total=8), a_line(command="co$t_{$", shown=9, total=8)
    )
    write_day(with_account, TODAY, a_line(shown=3, total=8, session="nightly"))
    ran = tokcap("stats", "--plot", str(tmp_path / name))
    assert (ran.status, ran.err) == (0, b"")
    picture = (tmp_path / name).read_bytes()
    assert picture.startswith(begins)
    if name == "x.SVG":
        assert b"nightly" in picture
        assert b"2026-01-01" in picture
        tokcap("stats", "--plot", str(tmp_path / "again.svg"))
        assert (tmp_path / "again.svg").read_bytes() == picture


@nightly
@needs_matplotlib
@pytest.mark.parametrize("days", [1, 2, 30])
def test_a_plot_has_bars_of_a_bar_s_width_readable_numbers_and_a_legend_beside_them(days):
    from matplotlib.figure import Figure

    from tokcap.usage.plot import draw
    from tokcap.usage.report import ReportRow

    numbers = tuple({"shown_tokens": 1000, "saved_tokens": 20_000}.get(field, 0) for field in FIELDS)
    rows = [ReportRow("cl100k_base", f"2026-01-{day + 1:02}", numbers) for day in range(days)]
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    axes = figure.subplots()
    draw(axes, "day", rows, "cl100k_base")
    figure.canvas.draw()
    area = axes.get_window_extent()
    assert all(bar.get_window_extent().width < area.width / 10 for bar in axes.patches)
    assert axes.get_legend().get_window_extent().y0 >= area.y1
    assert {"15,000", "20,000"} & {label.get_text() for label in axes.get_yticklabels()}
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["shown", "saved"]


@nightly
@needs_matplotlib
def test_a_plot_that_cannot_be_written_is_one_line(tokcap, with_account, tmp_path):
    write_day(with_account, TODAY, a_line())
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
        st.sampled_from(["", "aaaa", "bbbb"]),
        st.one_of(st.none(), st.integers(0, 50)),
        st.sampled_from(["known", "later", "never"]),
    ),
    max_size=25,
)
STDOUT = {"": 5, "aaaa": 30, "bbbb": 7}


@given(CALLS, st.sets(st.integers(0, 25)))
@examples(60)
def test_in_the_end_saved_is_what_there_was_less_what_was_paid(calls, asked_at):
    """For any order of runs, shows and counts, and whenever totals become known."""
    sums = Sums()
    known: set[str] = set()

    def settle():
        for handle, tokenizer in sums.outputs_without_total():
            if handle in known:
                sums.settle(handle, tokenizer, STDOUT[handle])

    for place, (kind, handle, shown, total) in enumerate(calls):
        if total != "never" and kind == "show":
            known.add(handle)
        exact = STDOUT[handle] + 2 if kind == "run" and total == "known" else None
        sums.add("2026-01-01", LoggedCall(kind, "x", "", "t", handle, shown, exact, 2, 9, 9))
        if place in asked_at:
            settle()
    known.update(STDOUT)
    settle()
    (row,) = [row for (_, _, by, _), row in sums.rows.items() if by == "day"] or [[0] * len(FIELDS)]
    counted = [(kind, handle, shown, total) for kind, handle, shown, total in calls if shown is not None]
    # Without a handle, the total can never become known.
    runs = [
        (handle, shown)
        for kind, handle, shown, total in counted
        if kind == "run" and (handle or total == "known")
    ]
    paid_later = sum(shown for kind, _, shown, _ in counted if kind == "show")
    withheld = sum(STDOUT[handle] + 2 - shown for handle, shown in runs)
    assert row[POSITIONS["withheld_tokens"]] == withheld
    assert row[POSITIONS["saved_tokens"]] == withheld - paid_later
    assert row[POSITIONS["shown_tokens"]] == sum(shown for _, _, shown, _ in counted)
    assert row[POSITIONS["net_loss_outputs"]] >= 0
    assert row[POSITIONS["net_loss_tokens"]] >= 0


def test_many_names_and_outputs_stay_within_bounds():
    from tokcap.usage import sums as module

    sums = Sums()
    for number in range(module.MOST_OUTPUTS + 700):
        sums.add("2026-01-01", LoggedCall("run", f"c{number}", "", "t", f"{number:012x}", 1, 5, None, 9, 9))
    assert len(sums.outputs) == module.MOST_OUTPUTS
    assert len(sums.rows) == module.MOST_NAMES + 3
    assert sums.rows["2026-01-01", "t", "command", "(others)"][0] == module.MOST_OUTPUTS + 200
