"""Sessions below other sessions: what one reserves and uses counts above it too, in every ledger."""

import time

import pytest

from tests.support.ledgers import KINDS, TestLedger
from tokcap.budget.arithmetic import Settings
from tokcap.budget.rules import MOST_ABOVE
from tokcap.errors import BudgetExhausted, SessionNotStarted, UsageError


@pytest.fixture(params=KINDS)
def opened(request, tmp_path):
    return TestLedger(request.param, tmp_path / "data")


@pytest.fixture
def ledger(opened):
    return opened.ledger


@pytest.fixture
def family(ledger):
    """Start a company with a team in it, and two members of the team."""
    ledger.start("company", Settings(1000))
    ledger.start("team", Settings(600, parent="company"))
    for name in ("ann", "bob"):
        ledger.start(name, Settings(500, parent="team"))
    return ledger


def numbers(ledger, *names: str) -> list[tuple[int, int]]:
    return [(ledger.session(name).read().used, ledger.session(name).read().reserved) for name in names]


ALL = ("ann", "bob", "team", "company")


class TestEveryStep:
    def test_counts_in_every_session_above(self, family):
        grant = family.session("ann").reserve(200)
        assert numbers(family, *ALL) == [(0, 200), (0, 0), (0, 200), (0, 200)]
        after = family.session("ann").settle(grant, 70)
        assert after == family.session("ann").read()
        assert numbers(family, *ALL) == [(70, 0), (0, 0), (70, 0), (70, 0)]
        assert [(name, above.used, above.total) for name, above in after.above] == [
            ("team", 70, 600),
            ("company", 70, 1000),
        ]
        family.session("bob").settle(None, 5)
        assert family.session("team").record(10, 20, key="k").counted
        assert not family.session("team").record(10, 20, key="k").counted
        assert numbers(family, *ALL) == [(70, 0), (5, 0), (105, 0), (105, 0)]
        released = family.session("bob").reserve(100, turn="t")
        family.session("bob").announce(released, 40)
        for _ in range(2):
            assert family.session("bob").release(released).used == 45
        assert numbers(family, *ALL) == [(70, 0), (45, 0), (145, 0), (145, 0)]
        for _ in range(2):
            assert family.session("bob").settle(released, 15).used == 20
        assert numbers(family, *ALL) == [(70, 0), (20, 0), (120, 0), (120, 0)]
        assert family.session("bob").turn("t") == 15

    def test_the_tightest_session_decides_and_a_refusal_names_it(self, family):
        assert family.session("ann").reserve(800).tokens == 500
        grant = family.session("bob").reserve(800)
        assert (grant.tokens, grant.account.remaining) == (100, 0)
        with pytest.raises(BudgetExhausted) as refused:
            family.session("bob").reserve(1)
        assert str(refused.value) == (
            "the budget of 'team' is exhausted: 0 of 600 tokens are used,"
            " 600 are reserved by running commands"
        )
        assert family.session("company").reserve(800).tokens == 400
        with pytest.raises(BudgetExhausted, match=r"^the budget is exhausted: 0 of 500"):
            family.session("ann").reserve(1)

    def test_a_session_without_a_total_has_what_is_left_above(self, ledger):
        ledger.start("team", Settings(300))
        ledger.start("free", Settings(parent="team"))
        assert (ledger.session("free").read().total, ledger.session("free").read().remaining) == (None, 300)
        assert ledger.session("free").reserve(None).tokens == 300

    def test_modes_follow_the_tightest_session(self, family):
        assert str(family.session("ann").read().mode()) == "raw"
        family.session("company").settle(None, 900)
        account = family.session("ann").read()
        assert (str(account.mode()), account.remaining, account.usage_fraction) == ("summary", 100, 0.0)
        assert account.most_for_one_answer(40) == 60
        family.session("company").settle(None, 80)
        assert str(family.session("ann").reserve(10).account.mode()) == "handle_only"
        assert family.session("ann").read().remaining_after(10, 4) == 16

    def test_a_window_belongs_to_one_session_alone(self, ledger):
        ledger.start("main", Settings(100_000, 10_000, floor_tokens=100))
        ledger.start("helper", Settings(parent="main", context_window=4000, floor_tokens=100))
        ledger.session("main").settle(None, 7000)
        grant = ledger.session("helper").reserve(900, turn="t")
        assert ledger.session("main").reserve(None).tokens == 2500, (
            "the helper's tokens go into another context"
        )
        ledger.session("helper").settle(grant, 900)
        used = [ledger.session(name).read().window_used for name in ("main", "helper")]
        assert (used, ledger.session("main").turn("t")) == ([7000, 900], 0)
        assert ledger.session("main").reserve(None).tokens == 500


class TestStarting:
    def test_needs_a_parent_that_exists(self, ledger):
        with pytest.raises(UsageError) as refused:
            ledger.start("ann", Settings(10, parent="team"))
        assert str(refused.value) == (
            "the parent 'team' has not been started; start it first: tokcap budget start team --total N"
        )
        assert not ledger.has("ann")

    def test_a_session_is_never_above_itself(self, family):
        with pytest.raises(UsageError, match="cannot be its own parent"):
            family.start("loop", Settings(10, parent="loop"))
        with pytest.raises(UsageError, match=r"other settings \(total 1000\)"):
            family.start("company", Settings(1000, parent="ann"))
        with pytest.raises(UsageError, match="invalid session name"):
            family.start("x", Settings(parent="../x"))

    def test_twice_with_the_same_settings_changes_nothing(self, family):
        family.session("ann").settle(None, 10)
        assert not family.start("ann", Settings(500, parent="team"))
        assert family.session("ann").read().used == 10
        for other in (Settings(500), Settings(500, parent="company"), Settings(400, parent="team")):
            with pytest.raises(UsageError, match=r"other settings \(total 500, parent team\)"):
                family.start("ann", other)

    def test_there_are_only_so_many_levels(self, ledger):
        ledger.start("s0", Settings(100))
        for level in range(1, MOST_ABOVE + 1):
            ledger.start(f"s{level}", Settings(100, parent=f"s{level - 1}"))
        with pytest.raises(UsageError, match=f"it has {MOST_ABOVE} sessions above it"):
            ledger.start("more", Settings(parent=f"s{MOST_ABOVE}"))
        ledger.session(f"s{MOST_ABOVE}").settle(ledger.session(f"s{MOST_ABOVE}").reserve(10), 7)
        assert ledger.session("s0").read().used == 7

    def test_the_list_has_the_sessions_above_each(self, family):
        family.session("ann").settle(None, 30)
        found = {entry.name: entry.account for entry in family.list()}
        assert list(found) == ["company", "team", "ann", "bob"]
        assert found["bob"] == family.session("bob").read()
        assert [name for name, _ in found["bob"].above] == ["team", "company"]


class TestEnding:
    def test_a_session_stays_counted_above(self, family):
        grant = family.session("ann").reserve(100)
        family.session("ann").settle(None, 30)
        assert family.session("ann").end().used == 30
        assert numbers(family, "team", "company") == [(30, 100), (30, 100)]
        assert family.session("ann").settle(grant, 50).used == 80
        assert numbers(family, "team", "company") == [(80, 0), (80, 0)]
        assert family.start("ann", Settings(5))
        assert family.session("ann").read().used == 0

    def test_a_parent_is_refused_until_the_whole_tree_is_ended(self, opened, family):
        with pytest.raises(UsageError) as refused:
            family.session("company").end()
        assert str(refused.value) == (
            "session 'company' has sessions below it (team, ann, bob); end them first, or all of them with:"
            " tokcap budget end company --tree"
        )
        family.session("bob").settle(None, 9)
        assert family.session("team").end(tree=True).used == 9
        assert [entry.name for entry in family.list()] == ["company"]
        for name in ("ann", "bob", "team"):
            with pytest.raises(SessionNotStarted):
                family.session(name).read()
        # Periods that end in the same millisecond are listed in the order of their beginnings.
        opened.set_time(time.time() + 5)
        assert family.session("company").end().used == 9
        assert [past.session for past in family.history()][-1] == "company"

    def test_a_reset_changes_no_session_above_or_below(self, family):
        grants = [family.session(name).reserve(50) for name in ("ann", "bob")]
        family.session("ann").settle(None, 30)
        assert family.session("ann").reset().used == 0
        assert numbers(family, *ALL) == [(0, 0), (0, 50), (30, 100), (30, 100)]
        for name in ("company", "team"):
            after = family.session(name).reset()
            assert (after.used, after.reserved) == (0, 0)
        assert numbers(family, *ALL) == [(0, 0), (0, 50), (0, 0), (0, 0)]
        family.session("bob").settle(None, 5)
        assert numbers(family, *ALL) == [(0, 0), (5, 50), (5, 0), (5, 0)]
        family.session("ann").settle(grants[0], 40)
        family.session("bob").settle(grants[1], 40)
        assert numbers(family, *ALL) == [(0, 0), (45, 0), (5, 0), (5, 0)], "they belong to what granted them"
        assert [name for name, _ in family.session("bob").read().above] == ["team", "company"]

    def test_the_history_has_what_has_ended(self, opened, family):
        assert list(family.history()) == []
        family.session("ann").settle(None, 30)
        grant = family.session("ann").reserve(10)
        family.session("ann").reset()
        opened.set_time(time.time() + 5)
        family.session("ann").end()
        family.session("ann").settle(grant, 4) if family.start("ann", Settings(1)) else None
        found = [(past.session, past.total, past.used, past.how) for past in family.history("ann")]
        assert found == [("ann", 500, 34, "reset"), ("ann", 500, 0, "ended")]
        assert list(family.history("nosuch")) == []
        assert all(0 < past.began <= past.ended for past in family.history())
