"""`tokcap budget` with sessions below others and periods: what people and programs are told."""

import re

import pytest

from tokcap import BudgetManager, open_session
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
        {
            "session": "team",
            "used": 200,
            "reserved": 0,
            "remaining": 800,
            "total": 1000,
            "usage_fraction": 0.2,
            "mode": "raw",
        }
    ]
    assert "answers are shown as raw" in family("budget", "status", "bob").out.decode()
    team = family("budget", "status", "team").out.decode()
    assert re.search(r"\nthe next month begins \d{4}-\d\d-01 00:00 UTC\n", team)
    numbers = data(family("budget", "status", "team", "-o", "json"))
    assert numbers["renew"] == "month"
    assert numbers["period_began"] < numbers["period_ends"]


def test_the_list_is_a_tree(family):
    family("budget", "start", "alone", "--total", "5")
    lines = family("budget", "list").out.decode().splitlines()
    assert [line.split("  2")[0].rstrip() for line in lines] == ["team", "  ann", "  bob", "alone"]
    rows = data(family("budget", "list", "-o", "json"))
    assert [(row["session"], row.get("parent")) for row in rows] == [
        ("team", None),
        ("ann", "team"),
        ("bob", "team"),
        ("alone", None),
    ]


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


def test_a_defect_in_noting_what_was_shown_is_told_and_changes_nothing_else(inside, monkeypatch, with_store):
    from tests.support import hidden_failures
    from tokcap.budget.ledger import SessionView

    def fails(*_):
        raise KeyError("a defect")

    inside("budget", "start", "s", "--total", "5000")
    words = ("--session", "s", "--repeat", "mark", "-n", "50", "--", "echo", "x")
    with monkeypatch.context() as patch:
        patch.setattr(SessionView, "note_shown", fails)
        ran = inside(*words)
    hidden_failures.seen.clear()
    assert (ran.status, ran.out) == (0, b"x\n")
    assert b"tokcap: internal error: " in ran.err
    assert data(inside("budget", "status", "s", "-o", "json"))["used"] > 0
