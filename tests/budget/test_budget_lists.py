"""`tokcap budget` with sessions below others and periods: what people and programs are told."""

import calendar
import os
import re
import signal
import subprocess
import sys

import pytest

from tests.support.engines import EVERY_SERVER, new_space, server_of
from tests.support.program import IMPORT_PATH, ROOT
from tests.support.terminal import Typist, on_a_terminal
from tests.support.tiers import as_nightly
from tokcap import BudgetManager, open_session
from tokcap.budget import open_ledger
from tokcap.environment import Environment
from tokcap.errors import BudgetExhausted, SessionNotStarted, UsageError


@pytest.fixture
def family(inside):
    """Start a team with two members, of whom one has used tokens; return how tokcap is called."""
    for words in (
        ("start", "team", "--total", "1000", "--renew", "month"),
        ("start", "ann", "--parent", "team", "--total", "500"),
        ("start", "bob", "--parent", "team"),
        ("record", "ann", "--input", "200"),
    ):
        assert inside("budget", *words).status == 0
    return inside


def data(ran) -> object:
    return ran.json["data"]


def test_a_run_is_charged_to_its_session_and_to_all_above(family):
    assert family("--session", "bob", "-n", "60", "--", "echo", "x").status == 0
    used = data(family("budget", "status", "bob", "-o", "json"))["used"]
    assert data(family("budget", "status", "team", "-o", "json"))["used"] == 200 + used
    family("budget", "record", "bob", "--input", "790")
    refused = family("--session", "ann", "-n", "60", "--", "echo", "x")
    assert refused.status == 120
    assert b"tokcap: the budget of 'team' is exhausted: 8 tokens are left" in refused.err
    assert family("budget", "check", "ann").status == 1


def test_the_status_shows_the_chain(family):
    shown = family("budget", "status", "ann").out.decode()
    assert re.match(
        r"ann  \[#+\.+\] 200 of 500 tokens used, 300 left\n"
        r"part of team  \[#+\.+\] 200 of 1000 tokens used, 800 left\n"
        r"answers are shown as raw\n$",
        shown,
    )
    found = data(family("budget", "status", "ann", "-o", "json"))
    assert (found["parent"], found["remaining"]) == ("team", 300)
    assert found["above"] == [
        {"session": "team", "used": 200, "reserved": 0, "remaining": 800, "total": 1000, "mode": "raw"}
    ]
    assert "answers are shown as raw" in family("budget", "status", "bob").out.decode()
    team = family("budget", "status", "team").out.decode()
    assert re.search(r"\nthe next month begins \d{4}-\d\d-01 00:00 UTC\n", team)
    numbers = data(family("budget", "status", "team", "-o", "json"))
    assert numbers["renew"] == "month"
    assert numbers["period_began"] < numbers["period_ends"]
    for shown in on_a_terminal("budget", "status", "ann", columns=40).splitlines():
        assert len(shown) <= 40


def test_the_list_can_be_a_tree(family):
    family("budget", "start", "alone", "--total", "5")
    lines = family("budget", "list", "--tree").out.decode().splitlines()
    assert [line.split("  2")[0].rstrip() for line in lines] == ["team", "  ann", "  bob", "alone"]
    rows = data(family("budget", "list", "--tree", "-o", "json"))
    assert [(row["session"], row["depth"], row.get("parent")) for row in rows] == [
        ("team", 0, None),
        ("ann", 1, "team"),
        ("bob", 1, "team"),
        ("alone", 0, None),
    ]
    assert "depth" not in data(family("budget", "list", "-o", "json"))[0]


def test_a_parent_that_is_missing_or_still_has_sessions_below_it_is_one_line(family):
    for words, status, message in (
        (("start", "x", "--parent", "nosuch"), 2, "the parent 'nosuch' has not been started"),
        (("start", "x", "--parent", "x"), 2, "cannot be its own parent"),
        (("start", "ann", "--total", "500"), 2, "(total 500, parent team)"),
        (("end", "team"), 2, "has sessions below it (ann, bob)"),
        (("start", "x", "--renew", "year"), 2, "one of day, week, month"),
    ):
        ran = family("budget", *words)
        assert (ran.status, ran.err.count(b"\n")) == (status, 1)
        assert message in ran.err.decode()
    assert family("budget", "start", "ann", "--parent", "team", "--total", "500").status == 0
    assert family("budget", "end", "team", "--tree").out == b"ended team: 200 tokens were used\n"
    assert data(family("budget", "list", "-o", "json")) == []


def test_the_history_has_each_period_and_the_present_one(family):
    family("budget", "reset", "ann")
    family("budget", "end", "bob")
    rows = data(family("budget", "history", "-o", "json"))
    assert [(row["session"], row["used"], row["how"]) for row in rows] == [
        ("ann", 200, "reset"),
        ("bob", 0, "ended"),
        ("team", 200, "running"),
        ("ann", 0, "running"),
    ]
    assert rows[2]["ended"] is None
    assert list(rows[0]) == ["session", "began", "ended", "total", "used", "how"]
    text = family("budget", "history", "ann").out.decode().splitlines()
    assert text[0].split() == ["session", "from", "(UTC)", "to", "(UTC)", "tokens"]
    assert text[1].endswith("  200 of 500  reset")
    assert text[2].endswith("now               0 of 500    running")
    assert family("budget", "history", "nosuch").out == b"there was no session nosuch\n"
    for line in on_a_terminal("budget", "history", columns=50).splitlines():
        assert len(line) <= 50


def test_periods_follow_the_clock_of_the_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("TOKCAP_DATA_DIR", str(tmp_path / "data"))
    now = [float(calendar.timegm((2026, 2, 28, 23, 59, 0)))]
    env = Environment(os.environ, now=lambda: now[0])
    budget = open_ledger(env)
    from tokcap.budget.arithmetic import Settings

    budget.start("s", Settings(100, renew="month"))
    budget.settle("s", None, 90)
    now[0] += 60
    assert budget.read("s").remaining == 100


class TestTheLibrary:
    def test_a_manager_below_a_session_counts_there_too(self, monkeypatch, tmp_path):
        monkeypatch.setenv("TOKCAP_DATA_DIR", str(tmp_path / "data"))
        team = BudgetManager(1000, session="team")
        ann = BudgetManager(800, session="ann", parent="team")
        bob = BudgetManager(None, session="bob", parent=team)
        assert (ann.allocate(700), bob.allocate(700)) == (700, 300)
        with pytest.raises(BudgetExhausted, match="of 'team' is exhausted"):
            bob.allocate(1)
        ann.record_usage(100)
        bob.record_usage(200)
        assert (team.used, team.remaining, ann.remaining, bob.remaining) == (300, 700, 700, 700)
        with open_session("cid", total=50, parent="team", renew="day") as cid:
            cid.record_usage(20)
        assert team.used == 320
        assert bob.end() == 200
        assert team.used == 320

    def test_a_manager_in_memory_can_be_a_parent(self):
        team = BudgetManager(1000)
        agents = [BudgetManager(400, parent=team) for _ in range(3)]
        assert [agent.allocate(400) for agent in agents] == [400, 400, 200]
        assert str(agents[0].suggested_mode()) == "raw"
        team.record_usage(900)
        assert str(agents[0].suggested_mode()) == "summary"
        grandchild = BudgetManager(50, parent=agents[0])
        grandchild.record_usage(5)
        assert (agents[0].used, team.used) == (5, 905)

    def test_what_does_not_go_together_is_refused(self):
        team = BudgetManager(1000)
        with pytest.raises(ValueError, match="give a session too"):
            BudgetManager(10, parent="team")
        with pytest.raises(ValueError, match="has its parent"):
            BudgetManager(storage=team._session, parent=team)
        team.end()
        with pytest.raises(UsageError, match="has not been started"):
            BudgetManager(10, parent=team)
        with pytest.raises(SessionNotStarted):
            team.allocate(1)


@pytest.fixture
def holder(family):
    """Run a command in the session of Ann, as long as the test runs; return its process id."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tokcap", "--session", "ann", "-n", "100", "--", "sh", "-c", "echo ok; cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": IMPORT_PATH},
        cwd=ROOT,
    )
    assert process.stdout.readline() == b"ok\n"
    yield process
    process.stdin.close()
    process.stdout.close()
    process.wait()


class TestWatch:
    def test_once_shows_sessions_and_who_holds_what(self, family, holder):
        lines = family("budget", "watch", "--once").out.decode().splitlines()
        assert lines[0] == "3 sessions, 100 tokens reserved by 1 command"
        assert [line.split()[0] for line in lines[2:]] == ["team", "ann", lines[4].split()[0], "bob"]
        assert re.fullmatch(rf"      \S+:{holder.pid}  100 tokens, 64 written, \d+s", lines[4])
        assert family("budget", "watch").out.decode().splitlines()[0] == lines[0], "without a terminal"

    def test_programs_get_the_same_as_json(self, family, holder):
        found = data(family("budget", "watch", "ann", "-o", "json"))
        assert [(each["session"], each["depth"], each["reserved"]) for each in found["sessions"]] == [
            ("ann", 0, 100)
        ]
        (held,) = found["held"]
        assert (held["session"], held["tokens"], held["announced"]) == ("ann", 100, 64)
        assert held["holder"].endswith(f":{holder.pid}")
        assert family("budget", "watch", "nosuch", "--once").status == 1
        whole = data(family("budget", "watch", "team", "-o", "json"))
        assert [each["session"] for each in whole["sessions"]] == ["team", "ann", "bob"]

    @pytest.mark.parametrize("leave", ["q", "\x03", as_nightly("TERM")])
    def test_it_is_redrawn_in_place_until_it_is_left_and_the_terminal_is_as_before(
        self, family, holder, leave
    ):
        with Typist(sys.executable, "-m", "tokcap", "budget", "watch", "--every", "50ms") as person:
            person.expect("\x1b[?1049h")
            person.expect(f":{holder.pid}  100 tokens")
            assert not person.echoes
            family("budget", "record", "bob", "--input", "111")
            person.expect("311 of 1000")
            assert "\n\n\n" not in person.seen
            if leave == "TERM":
                os.kill(person.pid, signal.SIGTERM)
            else:
                person.type(leave)
            assert person.wait() == (143 if leave == "TERM" else 0)
            assert "\x1b[?25h\x1b[?1049l" in person.seen
            assert person.seen.endswith("\x1b[?1049l")
            assert person.echoes

    def test_it_fits_small_terminals(self, family, holder):
        with Typist(
            *(sys.executable, "-m", "tokcap", "budget", "watch", "--every", "50ms"), rows=4, columns=40
        ) as person:
            person.expect("more line")
            page = person.seen.partition("\x1b[J")[0]
            person.forget()
            person.expect("\x1b[H")
            person.expect("\x1b[J")
            assert all(len(re.sub(r"\x1b\[.", "", line)) <= 40 for line in page.split("\r\n"))
            person.resize(30, 100)
            person.expect("bob")
            person.type("q")
            assert person.wait() == 0

    def test_a_ledger_that_goes_away_is_told_and_the_rest_stays(self, family, tmp_path):
        with Typist(sys.executable, "-m", "tokcap", "budget", "watch", "--every", "50ms") as person:
            person.expect("3 sessions")
            path = next((tmp_path / "home").rglob("ledger.db"))
            path.rename(path.with_suffix(".away"))
            path.write_bytes(b"no ledger at all, but some bytes" * 40)
            person.expect("damaged")
            path.with_suffix(".away").rename(path)
            person.expect("\x1b[J")
            person.type("q")
            assert person.wait() == 0


def test_a_defect_in_noting_what_was_shown_is_told_and_changes_nothing_else(inside, monkeypatch, with_store):
    from tests.support import hidden_failures
    from tokcap.budget.sqlite import SqliteLedger

    def fails(*_):
        raise KeyError("a defect")

    inside("budget", "start", "s", "--total", "5000")
    words = ("--session", "s", "--repeat", "mark", "-n", "50", "--", "echo", "x")
    with monkeypatch.context() as patch:
        patch.setattr(SqliteLedger, "note_shown", fails)
        ran = inside(*words)
    hidden_failures.seen.clear()
    assert (ran.status, ran.out) == (0, b"x\n")
    assert b"tokcap: internal error: " in ran.err
    assert data(inside("budget", "status", "s", "-o", "json"))["used"] > 0


@pytest.mark.parametrize("scheme", EVERY_SERVER)
def test_stats_by_session_have_what_all_hosts_have_used(scheme, inside, with_account, tmp_path, monkeypatch):
    monkeypatch.setenv("TOKCAP_LEDGER", server_of(scheme).url(new_space()))
    inside("budget", "start", "s", "--total", "5000")
    for host in ("one", "two"):
        env = {"TOKCAP_DATA_DIR": str(tmp_path / host)}
        assert inside("--session", "s", "-n", "50", "--", "echo", "x", env=env).status == 0
    inside("budget", "reset", "s")
    inside("budget", "record", "s", "--input", "10")
    env = {"TOKCAP_DATA_DIR": str(tmp_path / "one")}
    lines = inside("stats", "--by", "session", env=env).out.decode().splitlines()
    assert "counted by the ledger, for all hosts:" in lines
    assert lines[-1].split() == ["s", "14", "2"]
    found = data(inside("stats", "--by", "session", "-o", "json", env=env))
    assert found["ledger_sessions"] == [{"session": "s", "used_by_all_hosts": 14, "periods": 2}]
    assert [row["runs"] for row in found["sessions"]] == [1], "the log of one host"
    assert "ledger_sessions" not in data(inside("stats", "-o", "json", env=env))
    env["TOKCAP_LEDGER"] = server_of(scheme).url(new_space(), "timeout=0.2", port=1)
    away = inside("stats", "--by", "session", env=env)
    assert (away.status, away.err.count(b"\n")) == (0, 1)
    assert b"cannot be reached" in away.err
