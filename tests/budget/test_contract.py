"""The contract of `Ledger`: the same arithmetic, errors and borders for every member of `LEDGERS`."""

import itertools
import os
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.engines import SERVERS, new_space, server_of
from tests.support.ledgers import KINDS
from tests.support.tiers import examples
from tokcap.budget import LEDGERS, open_ledger
from tokcap.budget.arithmetic import MOST_TOKENS, Account, Settings, Window
from tokcap.budget.base import Engine, Grant
from tokcap.budget.ledger import Ledger, SessionView
from tokcap.budget.memory import ledger_in_memory
from tokcap.budget.rules import MOST_SHOWN
from tokcap.environment import Environment
from tokcap.errors import BudgetExhausted, SessionNotStarted, UsageError

GRANT = Grant(1, 1, None, False, Account(Settings()))


# A URL for each member. Another test gets another name, so that no test finds the sessions of the last one.
URLS = {
    "sqlite": lambda: "sqlite:",
    "memory": lambda: f"memory:{new_space()}",
    **{scheme: lambda scheme=scheme: server_of(scheme).url(new_space()) for scheme in SERVERS},
}
# The same member, reached in another way.
SAME = {"rediss": "redis", "unix": "redis", "postgres": "postgresql"}


@pytest.fixture(params=KINDS)
def environment(request, tmp_path):
    """Return an environment whose ledger is empty."""
    url = URLS[request.param]()
    return Environment({**os.environ, "TOKCAP_LEDGER": url, "TOKCAP_DATA_DIR": str(tmp_path / "data")})


@pytest.fixture
def ledger(environment):
    return open_ledger(environment, patience_seconds=20)


@pytest.fixture
def session(ledger):
    """Start a session, and return its view."""

    def start(total=None, **more) -> SessionView:
        ledger.start("s", Settings(total, **more))
        return SessionView(ledger, "s")

    return start


def steps_of(ledger, name):
    """Return every step that needs a session of this name."""
    return (
        lambda: ledger.session(name).end(),
        lambda: ledger.session(name).reset(),
        lambda: ledger.session(name).reserve(1),
        lambda: ledger.session(name).settle(None, 1),
        lambda: ledger.session(name).release(GRANT),
        lambda: ledger.session(name).record(1, 1),
        lambda: ledger.session(name).compacted(1),
        lambda: ledger.session(name).shown(["k"]),
        lambda: ledger.session(name).note_shown("", {}),
        lambda: ledger.session(name).turn("t"),
        lambda: ledger.session(name).read(),
    )


class TestSessions:
    def test_a_session_exists_from_its_start_to_its_end(self, ledger):
        assert not ledger.has("s")
        assert ledger.start("s", Settings(1000))
        assert ledger.has("s")
        assert ledger.session("s").read().total == 1000
        assert ledger.session("s").end().total == 1000
        assert not ledger.has("s")

    def test_a_ledger_that_is_opened_again_has_its_sessions(self, environment, ledger):
        ledger.start("s", Settings(1000))
        ledger.session("s").settle(None, 10)
        assert open_ledger(environment).session("s").read().used == 10

    def test_starting_twice_changes_nothing_and_other_settings_are_refused(self, ledger):
        first = Settings(1000, 32_000, 0.1, 0.2, 300)
        assert ledger.start("s", first)
        ledger.session("s").settle(None, 100)
        assert not ledger.start("s", first)
        assert ledger.session("s").read().used == 100
        for other in (Settings(2000, 32_000, 0.1, 0.2, 300), Settings(1000), Settings()):
            with pytest.raises(UsageError) as refused:
                ledger.start("s", other)
            assert str(refused.value) == (
                "session 's' was started with other settings (total 1000, context_window 32000,"
                " result_pct 0.1, turn_pct 0.2, floor_tokens 300); end it first: tokcap budget end s"
            )
        assert ledger.session("s").read().settings == first

    def test_every_step_on_an_unknown_name_says_how_to_start_the_session(self, ledger):
        ledger.start("gone", Settings(1000))
        grant = ledger.session("gone").reserve(1)
        ledger.session("gone").settle(grant, 1)
        ledger.session("gone").end()
        for step in (*steps_of(ledger, "gone"), lambda: ledger.session("gone").settle(grant, 1)):
            with pytest.raises(SessionNotStarted) as refused:
                step()
            assert str(refused.value) == (
                "session 'gone' has not been started; start it with: tokcap budget start gone --total N"
            )

    def test_the_list_is_in_the_order_of_starting(self, ledger):
        assert list(ledger.list()) == []
        for name in ("c", "a", "b"):
            ledger.start(name, Settings(100))
        ledger.session("b").settle(None, 10)
        ledger.session("a").end()
        ledger.session("c").reset()
        assert [(entry.name, entry.account.used) for entry in ledger.list()] == [("b", 10), ("c", 0)]
        assert all(entry.created > 0 for entry in ledger.list())

    def test_an_ended_name_starts_again_from_nothing(self, ledger, session):
        session(1000).record(10, 10, key="k")
        ledger.session("s").end()
        assert ledger.start("s", Settings(5))
        assert (ledger.session("s").read().used, ledger.session("s").read().total) == (0, 5)

    def test_a_reset_keeps_the_settings_and_nothing_else(self, ledger, session):
        work = session(1000, context_window=1000)
        work.record(10, 10, key="k")
        work.settle(work.reserve(10, turn="t"), 10)
        work.reserve(10, turn="t")
        after = ledger.session("s").reset()
        assert after == work.read()
        assert (after.used, after.reserved, after.window_used, after.total) == (0, 0, 0, 1000)
        assert work.turn("t") == 0
        assert work.record(10, 10, key="k").counted

    @pytest.mark.parametrize("name", ["", ".", "../x", "a/b", "a b", "-a", "é", "x" * 101])
    def test_a_bad_name_is_refused_by_every_step(self, ledger, name):
        for step in (
            lambda: ledger.start(name, Settings()),
            lambda: ledger.has(name),
            lambda: ledger.session(name).announce(GRANT, 1),
            lambda: SessionView(ledger, name),
            *steps_of(ledger, name),
        ):
            with pytest.raises(UsageError, match="invalid session name"):
                step()
        assert list(ledger.list()) == []

    @pytest.mark.parametrize(
        "wrong", [{"total": -1}, {"total": 10**30}, {"context_window": 1.5}, {"turn_pct": 1.01}], ids=str
    )
    def test_impossible_settings_are_refused(self, ledger, wrong):
        with pytest.raises(UsageError):
            ledger.start("s", Settings(**wrong))
        assert not ledger.has("s")


class TestGrants:
    def test_a_grant_is_the_request_or_what_is_left(self, session):
        work = session(1000)
        first = work.reserve(700)
        assert (first.tokens, first.account.reserved, first.account.remaining) == (700, 700, 300)
        assert work.reserve(700).tokens == 300
        with pytest.raises(BudgetExhausted) as refused:
            work.reserve(1)
        assert str(refused.value) == (
            "the budget is exhausted: 0 of 1000 tokens are used, 1000 are reserved by running commands"
        )
        assert work.read().reserved == 1000

    def test_without_a_limit_a_grant_has_none(self, session):
        work = session()
        grant = work.reserve(None)
        assert (grant.tokens, grant.account.reserved, grant.account.remaining) == (None, 0, None)
        assert work.settle(grant, 10**9).used == 10**9

    @pytest.mark.parametrize("actual", [0, 1, 99, 100, 101, 5000])
    def test_settling_counts_what_was_used_and_frees_the_grant(self, session, actual):
        work = session(1000)
        after = work.settle(work.reserve(100), actual)
        assert after == work.read()
        assert (after.used, after.reserved, after.window_used) == (actual, 0, actual)
        assert after.remaining == max(1000 - actual, 0)

    def test_a_grant_settled_twice_counts_once_and_frees_no_other_grant(self, session):
        """The first answer may have been lost on its way, so the step is repeated."""
        work = session(1000)
        grant = work.reserve(100, turn="t")
        first = work.settle(grant, 70)
        assert work.settle(grant, 70) == first
        work.reserve(100)
        after = work.settle(grant, 50)
        assert (after.used, after.reserved, work.turn("t")) == (70, 100, 70)
        assert work.release(grant) == after

    def test_a_released_grant_can_still_be_settled_once(self, session):
        work = session(1000)
        for announced in (0, 40):
            grant = work.reserve(100, turn="t")
            work.announce(grant, announced)
            before, in_turn = work.read().used, work.turn("t") - 100
            assert work.release(grant).used == before + announced
            for _ in range(2):
                assert work.settle(grant, 25).used == before + 25
                assert work.turn("t") == in_turn + 25

    def test_every_grant_has_an_id_of_its_own(self, ledger):
        ids = []
        for name in ("a", "b"):
            ledger.start(name, Settings(1000))
            ids += [ledger.session(name).reserve(10).id for _ in range(3)]
        ledger.session("a").reset()
        ids.append(ledger.session("a").reserve(10).id)
        assert len(set(ids)) == len(ids)

    def test_renewing_changes_no_number(self, session):
        work = session(1000)
        grant = work.reserve(100)
        work.announce(grant, 0)
        assert work.read() == grant.account
        work.settle(grant, 10)
        work.announce(grant, 0)
        assert (work.read().used, work.read().reserved) == (10, 0), "a grant that is gone stays gone"

    def test_what_was_announced_is_counted_if_the_grant_is_released(self, session):
        work = session(1000)
        grant = work.reserve(600, turn="t")
        for tokens in (40, 100, 70):
            work.announce(grant, tokens)
            assert work.read() == grant.account, "until then it is only reserved"
            assert work.turn("t") == 600
        for _ in range(2):
            after = work.release(grant)
            assert (after.used, after.reserved, after.window_used, work.turn("t")) == (100, 0, 100, 100)

    def test_what_was_announced_does_not_change_what_is_settled(self, session):
        work = session(1000)
        for actual in (0, 30, 100, 200):
            grant = work.reserve(100)
            work.announce(grant, 100)
            before = work.read().used
            assert work.settle(grant, actual).used == before + actual
            work.announce(grant, 500)
            assert work.read().used == before + actual, "a grant that is gone announces nothing"

    def test_a_grant_without_a_limit_can_announce_any_number(self, session):
        work = session()
        grant = work.reserve(None)
        work.announce(grant, MOST_TOKENS)
        assert work.release(grant).used == MOST_TOKENS

    def test_a_grant_of_an_ended_session_announces_there(self, ledger, session):
        work = session(1000)
        grant = work.reserve(100)
        ledger.session("s").reset()
        work.announce(grant, 60)
        assert work.release(grant).used == 0

    def test_a_grant_belongs_to_the_session_that_made_it(self, ledger, session):
        work = session(1000)
        first, second = work.reserve(100), work.reserve(100)
        ledger.session("s").reset()
        assert work.settle(first, 70).used == 70
        assert work.read().used == 0
        assert work.release(second) == work.read()
        third = work.reserve(100)
        ledger.session("s").end()
        assert work.settle(third, 5).used == 5

    @pytest.mark.parametrize("wrong", [-1, 1.5, True, None, MOST_TOKENS + 1], ids=str)
    def test_what_is_not_a_number_of_tokens_changes_nothing(self, session, wrong):
        work = session(1000)
        grant = work.reserve(100)
        for step in (
            lambda: work.announce(grant, wrong),
            lambda: work.settle(grant, wrong),
            lambda: work.record(wrong, 1),
            lambda: work.record(1, wrong),
            lambda: work.compacted(wrong),
        ):
            with pytest.raises(UsageError, match="must be a whole number of tokens"):
                step()
        assert work.read() == grant.account

    def test_a_request_above_every_number_asks_for_everything(self, session):
        assert session(1000).reserve(10**40).tokens == 1000

    def test_threads_never_get_more_than_the_total(self, session):
        work = session(300)
        granted = []

        def allocate():
            try:
                while True:
                    grant = work.reserve(7)
                    granted.append(grant.tokens)
                    work.settle(grant, grant.tokens)
            except BudgetExhausted:
                pass

        threads = [threading.Thread(target=allocate) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert work.read().used == 300 == sum(granted)


class TestWindows:
    def test_one_result_gets_its_share_down_to_the_floor(self, session):
        work = session(context_window=32_000)
        assert work.reserve(None).tokens == 8000
        work.settle(None, 23_000)
        full = work.reserve(None)
        assert (full.tokens, full.floor_decides) == (2000, True)

    def test_the_window_of_a_call_replaces_that_of_the_session(self, session):
        assert session(context_window=32_000).reserve(None, window=Window(200_000)).tokens == 50_000

    def test_shares_of_a_call_fill_in_what_the_session_was_not_given(self, session):
        work = session(context_window=32_000, turn_pct=0.3)
        shares = Window(0, result_pct=0.2, turn_pct=0.9)
        assert work.reserve(None, turn="t", shares=shares).tokens == 6400
        assert work.reserve(None, turn="t", shares=shares).tokens == 9600 - 6400

    def test_a_turn_has_its_share_and_the_next_turn_too(self, session):
        work = session(context_window=32_000)
        grants = [work.reserve(None, turn="1") for _ in range(2)]
        assert work.turn("1") == 16_000
        with pytest.raises(BudgetExhausted, match="this turn has used its 16000 tokens"):
            work.reserve(None, turn="1")
        assert work.turn("2") == 0
        assert work.reserve(None, turn="2").tokens == 8000
        work.settle(grants[0], 100)
        assert work.turn("1") == 8100
        assert work.reserve(None, turn="1").tokens == 7900

    def test_compaction_empties_the_window_and_not_the_total(self, session):
        work = session(100_000, context_window=32_000)
        work.settle(None, 31_000)
        after = work.compacted(4000)
        assert after == work.read()
        assert (after.used, after.window_used) == (31_000, 4000)

    def test_a_model_call_sets_what_the_context_holds(self, session):
        work = session(context_window=32_000)
        for _ in range(3):
            after = work.record(20_000, 500).account
        assert after == work.read()
        assert (after.used, after.window_used) == (61_500, 20_500)

    @pytest.mark.parametrize("turn", ["", "a\0b", "\udcff", "x" * 1001])
    def test_a_bad_turn_or_key_is_refused(self, session, turn):
        work = session()
        for step in (lambda: work.reserve(1, turn=turn), lambda: work.turn(turn)):
            with pytest.raises(UsageError, match="a turn must be 1 to 1000 bytes"):
                step()
        with pytest.raises(UsageError, match="a key must be 1 to 1000 bytes"):
            work.record(1, 1, key=turn)

    def test_a_key_counts_once_in_each_session(self, ledger):
        for name in ("a", "b"):
            ledger.start(name, Settings(100))
            assert ledger.session(name).record(60, 50, key="call").counted
            again = ledger.session(name).record(60, 50, key="call")
            assert (again.counted, again.account) == (False, ledger.session(name).read())
            assert again.account.used == 110
            with pytest.raises(BudgetExhausted, match="110 of 100"):
                ledger.session(name).reserve(1)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["reserve", "announce", "settle", "release", "record", "compacted", "reset"]),
        st.integers(0, 3000),
        st.sampled_from([None, "t", "u"]),
    ),
    max_size=25,
)


def outcome(ledger, name: str, step: str, tokens: int, turn: str | None, grants: list) -> object:
    """Do one step; return what a caller sees of it, without the ids that each ledger chooses."""
    if step == "reserve":
        try:
            grants.append(ledger.session(name).reserve(None if tokens > 2500 else tokens, turn=turn))
        except BudgetExhausted as error:
            return str(error)
        return grants[-1].replace(id=0, sessions=())
    if step == "settle":
        return ledger.session(name).settle(grants.pop(0) if grants else None, tokens)
    if step == "announce":
        return ledger.session(name).announce(grants[0], tokens) if grants else None
    if step == "release":
        return ledger.session(name).release(grants.pop()) if grants else None
    if step == "record":
        return ledger.session(name).record(tokens, tokens // 3, key=turn)
    return ledger.session(name).compacted(tokens) if step == "compacted" else ledger.session(name).reset()


NUMBERS = itertools.count()


@examples(8)
@given(total=st.none() | st.integers(0, 9000), window=st.none() | st.integers(0, 9000), steps=STEPS)
def test_any_steps_have_the_outcome_that_they_have_in_memory(ledger, total, window, steps):
    # The examples share one ledger, so each has a session of its own.
    name = f"s{next(NUMBERS)}"
    reference = ledger_in_memory()
    grants: tuple[list, list] = ([], [])
    for each in (ledger, reference):
        each.start(name, Settings(total, window, floor_tokens=500))
    for step, tokens, turn in steps:
        seen = outcome(ledger, name, step, tokens, turn, grants[0])
        assert seen == outcome(reference, name, step, tokens, turn, grants[1])
        assert ledger.session(name).read() == reference.session(name).read()
        assert ledger.session(name).turn("t") == reference.session(name).turn("t")


class TestWhatWasShown:
    def test_a_key_has_the_handle_that_was_noted_last(self, session):
        work = session(1000)
        context = work.shown(["a"]).context
        assert work.shown(["a", "b"]).handles == {}
        assert work.note_shown(context, {"a": "111111111111", "b": "222222222222"})
        assert work.note_shown(context, {"a": "333333333333"})
        assert work.shown(["a", "b", "c"]).handles == {"a": "333333333333", "b": "222222222222"}
        assert work.shown(["b"]).handles == {"b": "222222222222"}
        assert work.shown([]).context == context

    @pytest.mark.parametrize("forget", ["compacted", "reset", "end"])
    def test_compaction_reset_and_end_forget_what_was_shown(self, ledger, session, forget):
        work = session(1000)
        before = work.shown(["a"]).context
        work.note_shown(before, {"a": "111111111111"})
        if forget == "end":
            ledger.session("s").end()
            ledger.start("s", Settings(1000))
        elif forget == "reset":
            ledger.session("s").reset()
        else:
            work.compacted(0)
        after = work.shown(["a"])
        assert (after.handles, after.context != before) == ({}, True)

    @pytest.mark.parametrize("forget", ["compacted", "reset"])
    def test_what_was_on_its_way_to_a_context_that_is_gone_is_not_noted(self, ledger, session, forget):
        work = session(1000)
        before = work.shown(["a"]).context
        work.compacted(0) if forget == "compacted" else ledger.session("s").reset()
        assert not work.note_shown(before, {"a": "111111111111"})
        assert work.shown(["a"]).handles == {}

    def test_the_oldest_keys_go_first_and_a_key_noted_again_is_new(self, session):
        work = session(1000)
        context = work.shown([]).context
        keys = [str(number) for number in range(MOST_SHOWN)]
        assert work.note_shown(context, dict.fromkeys(keys, "111111111111"))
        work.note_shown(context, {"0": "222222222222"})
        work.note_shown(context, {"new": "333333333333"})
        found = work.shown([*keys, "new"]).handles
        assert len(found) == MOST_SHOWN
        assert "1" not in found
        assert (found["0"], found["2"], found["new"]) == ("222222222222", "111111111111", "333333333333")


class TestTheTable:
    def test_every_member_has_a_url_in_this_suite(self):
        assert {*URLS, *SAME} == set(LEDGERS)

    @pytest.mark.parametrize("url", ["redis", "secret@host/x", "nosuch://user:secret@host/x", ":", "/a/b"])
    def test_an_unknown_url_is_refused_and_not_repeated(self, url, inside):
        ran = inside("--session", "s", "--", "echo", "x", env={"TOKCAP_LEDGER": url})
        assert (ran.status, ran.out) == (125, b"")
        assert ran.err == (
            b"tokcap: the ledger must be a URL that starts with one of"
            b" sqlite:, memory:, redis:, rediss:, unix:, postgresql:, postgres:\n"
        )

    def test_the_sqlite_ledger_takes_no_path(self, inside):
        ran = inside("--session", "s", "--", "echo", "x", env={"TOKCAP_LEDGER": "sqlite:///tmp/x.db"})
        assert ran.status == 125
        assert b"TOKCAP_DATA_DIR" in ran.err


class ToyEngine(Engine):
    """A ledger from outside the package: rows in a dict, and a note of those that were changed."""

    def __init__(self):
        self.rows, self.changed = {}, []

    def change(self, keys, step, seconds):
        texts, now = self.load(keys, seconds)
        for key, (text, _) in step(texts, now).items():
            self.rows[key] = text
            self.changed.append(key)

    def load(self, keys, seconds):
        return {key: self.rows.get(key) for key in keys}, time.time()

    def scan(self, kind, most, seconds):
        return {
            key: text for key, text in self.rows.items() if text and key.startswith(f"{kind}/")
        }, time.time()


class TestAToyLedger:
    @pytest.fixture
    def toy(self, monkeypatch):
        """Register a ledger under its own scheme, as a package that adds one would."""
        ledger = Ledger(ToyEngine())
        opened = []

        def open_toy(url, env, patience_seconds):
            opened.append(url)
            return ledger

        monkeypatch.setattr(sys.modules[__name__], "open_toy", open_toy, raising=False)
        LEDGERS.add("toy", f"{__name__}:open_toy")
        monkeypatch.setenv("TOKCAP_LEDGER", "toy://host/team")
        yield ledger
        LEDGERS.remove("toy")
        assert set(opened) == {"toy://host/team"}

    def test_the_command_line_starts_charges_and_refuses_a_session(self, toy, inside, with_store):
        assert inside("budget", "start", "work", "--total", "100").out == b"export TOKCAP_SESSION=work\n"
        ran = inside("--session", "work", "-n", "60", "--", "seq", "1", "1000")
        assert ran.status == 0
        used = toy.session("work").read().used
        assert 0 < used <= 60
        assert "session/work" in toy.engine.changed
        assert inside("budget", "status", "work", "-o", "json").json["data"]["used"] == used
        inside("budget", "record", "work", "--input", "100")
        refused = inside("--session", "work", "-n", "60", "--", "seq", "1", "1000")
        assert refused.status == 120
        assert (
            refused.err == f"tokcap: the budget is exhausted: {used + 100} of 100 tokens are used\n".encode()
        )
        assert inside("budget", "check", "work").status == 1
        assert inside("budget", "turn", "--session", "work").status == 0
        assert inside("budget", "end", "work").status == 0
        assert inside("budget", "list", "-o", "json").json["data"] == []
        assert not (with_store / "ledger.db").exists()

    def test_the_doctor_lists_its_sessions(self, toy, inside):
        inside("budget", "start", "work", "--total", "100")
        assert b"1 session running" in inside("doctor", env={"TOKCAP_SESSION": "work"}).out

    def test_the_library_uses_it_too(self, toy):
        from tokcap import BudgetManager, open_session

        BudgetManager(500, session="shared").record_usage(100)
        with open_session("shared") as budget:
            assert budget.remaining == 400
        assert toy.session("shared").read().used == 100
