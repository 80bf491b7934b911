"""Sessions that are renewed: a new period by the clock of the ledger, and what becomes of the last one."""

import calendar
import time

import pytest

from tests.support.engines import EVERY_SERVER
from tests.support.ledgers import KINDS, TestLedger
from tokcap.budget.arithmetic import Settings, period_end, period_start
from tokcap.errors import BudgetExhausted, UsageError

HOUR, DAY = 3600, 86_400


def seconds(*when: int) -> float:
    """Return a time in UTC: year, month, day, hour, minute."""
    return float(calendar.timegm((*when, 0, 0, 0, 0)[:6]))


@pytest.fixture(params=KINDS)
def opened(request, tmp_path):
    found = TestLedger(request.param, tmp_path / "data", "timeout=20&lease=10")
    found.ledger.start("first", Settings())
    return found


@pytest.fixture
def ledger(opened):
    return opened.ledger


NEW_YEAR_EVE = seconds(2026, 12, 31, 23, 30)


class TestTheCalendar:
    @pytest.mark.parametrize(
        ("renew", "now", "start", "end"),
        [
            ("day", (2026, 2, 28, 23, 59), (2026, 2, 28), (2026, 3, 1)),
            ("day", (2026, 3, 1), (2026, 3, 1), (2026, 3, 2)),
            ("week", (2026, 11, 15, 23, 59), (2026, 11, 9), (2026, 11, 16)),
            ("week", (2026, 11, 16), (2026, 11, 16), (2026, 11, 23)),
            ("month", (2026, 12, 31, 23), (2026, 12, 1), (2027, 1, 1)),
            ("month", (2028, 2, 29, 12), (2028, 2, 1), (2028, 3, 1)),
        ],
    )
    def test_periods_begin_at_midnight_on_monday_and_on_the_first_in_utc(self, renew, now, start, end):
        assert period_start(renew, seconds(*now)) == seconds(*start)
        assert period_end(renew, seconds(*now)) == seconds(*end)

    def test_an_unknown_period_is_refused(self, ledger):
        with pytest.raises(UsageError, match="renew must be one of day, week, month"):
            ledger.start("s", Settings(renew="year"))


class TestTheBorder:
    def test_what_was_used_begins_at_0_and_the_rest_stays(self, opened, ledger):
        opened.set_time(NEW_YEAR_EVE)
        ledger.start("s", Settings(1000, 5000, renew="day"))
        ledger.session("s").settle(ledger.session("s").reserve(100, turn="t"), 90)
        assert ledger.session("s").record(900, 0, key="k").counted
        context = ledger.session("s").shown([]).context
        ledger.session("s").note_shown(context, {"a": "111111111111"})
        ledger.session("s").reserve(10)
        with pytest.raises(BudgetExhausted, match="990 of 1000"):
            ledger.session("s").reserve(1)
        opened.set_time(NEW_YEAR_EVE + HOUR)
        after = ledger.session("s").read()
        assert (after.used, after.window_used, ledger.session("s").turn("t")) == (0, 900, 90)
        assert after.remaining == 1000 - after.reserved
        assert not ledger.session("s").record(900, 0, key="k").counted, "a retry over midnight counts once"
        assert ledger.session("s").shown(["a"]).handles == {"a": "111111111111"}
        assert not ledger.start("s", Settings(1000, 5000, renew="day"))
        assert [(past.used, past.how) for past in ledger.history("s")] == [(990, "renewed")]

    def test_what_is_reserved_stays_reserved_and_is_counted_where_it_is_settled(self, opened, ledger):
        opened.set_time(NEW_YEAR_EVE)
        ledger.start("s", Settings(1000, renew="day"))
        grants = [ledger.session("s").reserve(300) for _ in range(2)]
        ledger.session("s").settle(None, 50)
        opened.set_time(NEW_YEAR_EVE + HOUR)
        for grant in grants:
            ledger.session("s").announce(grant, 0)
        if ledger.engine.lease_seconds is None:
            after = ledger.session("s").read()
            assert (after.used, after.reserved, after.remaining) == (0, 600, 400)
        assert ledger.session("s").settle(grants[0], 200).used == 200
        assert [past.used for past in ledger.history("s")] == [50]

    def test_what_replaces_a_number_is_counted_where_that_number_was_counted(self, opened, ledger):
        opened.set_time(NEW_YEAR_EVE)
        ledger.start("team", Settings(5000, renew="month"))
        ledger.start("s", Settings(1000, renew="day", parent="team"))
        grant = ledger.session("s").reserve(300, turn="t")
        ledger.session("s").announce(grant, 100)
        ledger.session("s").release(grant)
        assert ledger.session("team").read().used == 100
        opened.set_time(NEW_YEAR_EVE + HOUR)
        ledger.session("s").settle(None, 7)
        for _ in range(2):
            after = ledger.session("s").settle(grant, 40)
            assert (after.used, after.window_used) == (7, 47)
        assert (ledger.session("team").read().used, ledger.session("s").turn("t")) == (7, 40)
        assert [past.used for past in ledger.history("s")] == [40]
        assert [past.used for past in ledger.history("team")] == [40]

    def test_each_session_of_a_tree_has_its_own_periods(self, opened, ledger):
        opened.set_time(NEW_YEAR_EVE - 2 * DAY)
        ledger.start("team", Settings(1000, renew="month"))
        ledger.start("ann", Settings(400, parent="team", renew="day"))
        ledger.start("bob", Settings(400, parent="team"))
        for day in range(3):
            opened.set_time(NEW_YEAR_EVE + (day - 2) * DAY)
            ledger.session("ann").settle(ledger.session("ann").reserve(300), 300)
            ledger.session("bob").settle(ledger.session("bob").reserve(20), 20)
            assert ledger.session("ann").read().used == 300
        assert ledger.session("team").read().used == 960
        assert ledger.session("ann").reserve(300).tokens == 40
        opened.set_time(NEW_YEAR_EVE + HOUR)
        assert (
            ledger.session("team").read().used,
            ledger.session("ann").read().used,
            ledger.session("bob").read().used,
        ) == (0, 0, 60)
        assert [past.used for past in ledger.history("ann")] == [300, 300, 300]
        assert [past.used for past in ledger.history("team")] == [960]

    def test_a_clock_that_runs_back_begins_no_period(self, opened, ledger):
        opened.set_time(NEW_YEAR_EVE + HOUR)
        ledger.start("s", Settings(1000, renew="day"))
        ledger.session("s").settle(None, 10)
        opened.set_time(NEW_YEAR_EVE)
        assert ledger.session("s").read().used == 10
        opened.set_time(NEW_YEAR_EVE + 2 * HOUR)
        assert ledger.session("s").read().used == 10
        assert list(ledger.history("s")) == []

    def test_an_end_and_a_reset_close_the_period(self, opened, ledger):
        opened.set_time(NEW_YEAR_EVE)
        ledger.start("s", Settings(1000, renew="week"))
        ledger.session("s").settle(None, 10)
        ledger.session("s").reset()
        ledger.session("s").settle(None, 20)
        opened.set_time(NEW_YEAR_EVE + 7 * DAY)
        ledger.session("s").settle(None, 30)
        ledger.session("s").end()
        found = ledger.history("s")
        assert [(past.used, past.how) for past in found] == [(10, "reset"), (20, "renewed"), (30, "ended")]
        assert found[2].began == found[1].ended == period_start("week", NEW_YEAR_EVE + 7 * DAY)


@pytest.mark.parametrize("kind", EVERY_SERVER)
def test_a_lease_that_ends_after_the_border_is_counted_in_the_new_period(kind, tmp_path):
    opened = TestLedger(kind, tmp_path, "timeout=20&lease=100")
    ledger = opened.ledger
    ledger.start("s", Settings(1000, renew="day"))
    border = period_end("day", time.time())
    opened.set_time(border - 20)
    grant = ledger.session("s").reserve(300)
    ledger.session("s").announce(grant, 60)
    opened.set_time(border + 20)
    assert (ledger.session("s").read().used, ledger.session("s").read().reserved) == (0, 300)
    opened.set_time(border + 200)
    assert (ledger.session("s").read().used, ledger.session("s").read().reserved) == (60, 0)
    assert ledger.session("s").settle(grant, 10).used == 10
