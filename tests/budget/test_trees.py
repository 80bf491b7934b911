"""Sessions below other sessions: what one reserves and uses counts above it too, in every ledger."""

import itertools
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.ledgers import KINDS, TestLedger
from tests.support.tiers import examples
from tokcap.budget.arithmetic import Settings
from tokcap.budget.memory import MemoryLedger
from tokcap.budget.trees import MOST_ABOVE
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
    return [(ledger.read(name).used, ledger.read(name).reserved) for name in names]


ALL = ("ann", "bob", "team", "company")


class TestEveryStep:
    def test_counts_in_every_session_above(self, family):
        grant = family.reserve("ann", 200)
        assert numbers(family, *ALL) == [(0, 200), (0, 0), (0, 200), (0, 200)]
        after = family.settle("ann", grant, 70)
        assert after == family.read("ann")
        assert numbers(family, *ALL) == [(70, 0), (0, 0), (70, 0), (70, 0)]
        assert [(name, above.used, above.total) for name, above in after.above] == [
            ("team", 70, 600),
            ("company", 70, 1000),
        ]
        family.settle("bob", None, 5)
        assert family.record("team", 10, 20, key="k").counted
        assert not family.record("team", 10, 20, key="k").counted
        assert numbers(family, *ALL) == [(70, 0), (5, 0), (105, 0), (105, 0)]
        released = family.reserve("bob", 100, turn="t")
        family.announce("bob", released, 40)
        for _ in range(2):
            assert family.release("bob", released).used == 45
        assert numbers(family, *ALL) == [(70, 0), (45, 0), (145, 0), (145, 0)]
        for _ in range(2):
            assert family.settle("bob", released, 15).used == 20
        assert numbers(family, *ALL) == [(70, 0), (20, 0), (120, 0), (120, 0)]
        assert family.turn("bob", "t") == 15

    def test_the_tightest_session_decides_and_a_refusal_names_it(self, family):
        assert family.reserve("ann", 800).tokens == 500
        grant = family.reserve("bob", 800)
        assert (grant.tokens, grant.account.remaining) == (100, 0)
        with pytest.raises(BudgetExhausted) as refused:
            family.reserve("bob", 1)
        assert str(refused.value) == (
            "the budget of 'team' is exhausted: 0 of 600 tokens are used,"
            " 600 are reserved by running commands"
        )
        assert family.reserve("company", 800).tokens == 400
        with pytest.raises(BudgetExhausted, match=r"^the budget is exhausted: 0 of 500"):
            family.reserve("ann", 1)

    def test_a_session_without_a_total_has_what_is_left_above(self, ledger):
        ledger.start("team", Settings(300))
        ledger.start("free", Settings(parent="team"))
        assert (ledger.read("free").total, ledger.read("free").remaining) == (None, 300)
        assert ledger.reserve("free", None).tokens == 300

    def test_modes_follow_the_tightest_session(self, family):
        assert str(family.read("ann").mode()) == "raw"
        family.settle("company", None, 900)
        account = family.read("ann")
        assert (str(account.mode()), account.remaining, account.usage_fraction) == ("summary", 100, 0.0)
        assert account.most_for_one_answer(40) == 60
        family.settle("company", None, 80)
        assert str(family.reserve("ann", 10).account.mode()) == "handle_only"
        assert family.read("ann").remaining_after(10, 4) == 16

    def test_a_window_belongs_to_one_session_alone(self, ledger):
        ledger.start("main", Settings(100_000, 10_000, floor_tokens=100))
        ledger.start("helper", Settings(parent="main", context_window=4000, floor_tokens=100))
        grant = ledger.reserve("helper", 900, turn="t")
        assert ledger.reserve("main", None).tokens == 2500, "the helper's tokens go into another context"
        ledger.settle("helper", grant, 900)
        assert (ledger.read("main").window_used, ledger.read("helper").window_used) == (0, 900)
        assert ledger.turn("main", "t") == 0
        assert ledger.reserve("main", None).tokens == 2500

    def test_threads_in_many_sessions_never_get_more_than_the_total_above(self, ledger):
        ledger.start("team", Settings(300))
        names = [f"member{number}" for number in range(4)]
        for name in names:
            ledger.start(name, Settings(200, parent="team"))
        granted, problems = [], []

        def allocate(name):
            try:
                while True:
                    grant = ledger.reserve(name, 7)
                    granted.append(grant.tokens)
                    assert all(above.used + above.reserved <= 300 for _, above in grant.account.above)
                    ledger.settle(name, grant, grant.tokens)
            except BudgetExhausted:
                pass
            except Exception as error:
                problems.append(error)

        threads = [threading.Thread(target=allocate, args=(name,)) for name in names * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not problems
        assert (
            ledger.read("team").used == 300 == sum(granted) == sum(ledger.read(each).used for each in names)
        )


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
        family.settle("ann", None, 10)
        assert not family.start("ann", Settings(500, parent="team"))
        assert family.read("ann").used == 10
        for other in (Settings(500), Settings(500, parent="company"), Settings(400, parent="team")):
            with pytest.raises(UsageError, match=r"other settings \(total 500, parent team\)"):
                family.start("ann", other)

    def test_there_are_only_so_many_levels(self, ledger):
        ledger.start("s0", Settings(100))
        for level in range(1, MOST_ABOVE + 1):
            ledger.start(f"s{level}", Settings(100, parent=f"s{level - 1}"))
        with pytest.raises(UsageError, match=f"it has {MOST_ABOVE} sessions above it"):
            ledger.start("more", Settings(parent=f"s{MOST_ABOVE}"))
        ledger.settle(f"s{MOST_ABOVE}", ledger.reserve(f"s{MOST_ABOVE}", 10), 7)
        assert ledger.read("s0").used == 7

    def test_the_list_has_the_sessions_above_each(self, family):
        family.settle("ann", None, 30)
        found = {entry.name: entry.account for entry in family.list()}
        assert list(found) == ["company", "team", "ann", "bob"]
        assert found["bob"] == family.read("bob")
        assert [name for name, _ in found["bob"].above] == ["team", "company"]


class TestEnding:
    def test_a_session_stays_counted_above(self, family):
        grant = family.reserve("ann", 100)
        family.settle("ann", None, 30)
        assert family.end("ann").used == 30
        assert numbers(family, "team", "company") == [(30, 100), (30, 100)]
        assert family.settle("ann", grant, 50).used == 80
        assert numbers(family, "team", "company") == [(80, 0), (80, 0)]
        assert family.start("ann", Settings(5))
        assert family.read("ann").used == 0

    def test_a_parent_is_refused_until_the_whole_tree_is_ended(self, opened, family):
        with pytest.raises(UsageError) as refused:
            family.end("company")
        assert str(refused.value) == (
            "session 'company' has sessions below it (team, ann, bob); end them first, or all of them with:"
            " tokcap budget end company --tree"
        )
        family.settle("bob", None, 9)
        assert family.end("team", tree=True).used == 9
        assert [entry.name for entry in family.list()] == ["company"]
        for name in ("ann", "bob", "team"):
            with pytest.raises(SessionNotStarted):
                family.read(name)
        # Periods that end in the same millisecond are listed in the order of their beginnings.
        opened.set_time(time.time() + 5)
        assert family.end("company").used == 9
        assert [past.session for past in family.history()][-1] == "company"

    def test_a_reset_changes_no_session_above_or_below(self, family):
        grants = [family.reserve(name, 50) for name in ("ann", "bob")]
        family.settle("ann", None, 30)
        assert family.reset("ann").used == 0
        assert numbers(family, *ALL) == [(0, 0), (0, 50), (30, 100), (30, 100)]
        for name in ("company", "team"):
            after = family.reset(name)
            assert (after.used, after.reserved) == (0, 0)
        assert numbers(family, *ALL) == [(0, 0), (0, 50), (0, 0), (0, 0)]
        family.settle("bob", None, 5)
        assert numbers(family, *ALL) == [(0, 0), (5, 50), (5, 0), (5, 0)]
        family.settle("ann", grants[0], 40)
        family.settle("bob", grants[1], 40)
        assert numbers(family, *ALL) == [(0, 0), (45, 0), (5, 0), (5, 0)], "they belong to what granted them"
        assert [name for name, _ in family.read("bob").above] == ["team", "company"]

    def test_the_history_has_what_has_ended(self, opened, family):
        assert list(family.history()) == []
        family.settle("ann", None, 30)
        grant = family.reserve("ann", 10)
        family.reset("ann")
        opened.set_time(time.time() + 5)
        family.end("ann")
        family.settle("ann", grant, 4) if family.start("ann", Settings(1)) else None
        found = [(past.session, past.total, past.used, past.how) for past in family.history("ann")]
        assert found == [("ann", 500, 34, "reset"), ("ann", 500, 0, "ended")]
        assert list(family.history("nosuch")) == []
        assert all(0 < past.began <= past.ended for past in family.history())

    def test_who_holds_what_can_be_listed(self, family):
        import os

        first = family.reserve("ann", 100)
        family.announce("ann", first, 20)
        family.reserve("company", 5)
        # Both may have been granted in the same millisecond.
        found = sorted((held.session, held.tokens, held.announced) for held in family.held())
        assert found == [("ann", 100, 20), ("company", 5, 0)]
        assert {held.holder for held in family.held()} == {f"{os.uname().nodename}:{os.getpid()}"}
        assert all(0 <= held.age_seconds < 600 for held in family.held())
        family.settle("ann", first, 1)
        assert [held.session for held in family.held()] == ["company"]


NAMES = ("root", "left", "right", "leaf")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["reserve", "announce", "settle", "release", "record", "reset"]),
        st.sampled_from(NAMES),
        st.integers(0, 900),
    ),
    max_size=25,
)
NUMBERS = itertools.count()


def outcome(ledger, step: str, name: str, tokens: int, grants: list) -> object:
    """Do one step; return what a caller sees of it."""
    if step == "reserve":
        try:
            grant = ledger.reserve(name, tokens)
        except BudgetExhausted as error:
            return str(error)
        grants.append((name, grant))
        return grant.tokens, grant.account
    if step == "record":
        return ledger.record(name, tokens, 0)
    if step == "reset":
        return ledger.reset(name)
    if not grants:
        return ledger.settle(name, None, tokens)
    held_by, grant = grants.pop(tokens % len(grants)) if step != "announce" else grants[0]
    if step == "announce":
        return ledger.announce(held_by, grant, tokens)
    return ledger.settle(held_by, grant, tokens) if step == "settle" else ledger.release(held_by, grant)


@examples(6)
@given(totals=st.lists(st.none() | st.integers(0, 3000), min_size=4, max_size=4), steps=STEPS)
def test_any_steps_have_the_outcome_that_they_have_in_memory(ledger, totals, steps):
    # The examples share one ledger, so each has sessions of its own.
    number = next(NUMBERS)
    names = {name: f"{name}{number}" for name in NAMES}
    parents = {"root": None, "left": names["root"], "right": names["root"], "leaf": names["left"]}
    reference = MemoryLedger()
    for each in (ledger, reference):
        for name, total in zip(NAMES, totals, strict=True):
            each.start(names[name], Settings(total, parent=parents[name]))
    grants: tuple[list, list] = ([], [])
    for step, name, tokens in steps:
        seen = outcome(ledger, step, names[name], tokens, grants[0])
        assert seen == outcome(reference, step, names[name], tokens, grants[1])
        for each in names.values():
            assert ledger.read(each) == reference.read(each)
