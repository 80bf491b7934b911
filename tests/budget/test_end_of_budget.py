"""How a budget ends: answers get shorter step by step, then calls are refused."""

import itertools
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.reference import recount
from tests.support.tiers import examples
from tokcap.budget.arithmetic import Account, Settings
from tokcap.budget.sqlite import ledger_in
from tokcap.outputs import FORMS, LEAST_TOKENS
from tokcap.shapes import MODES
from tokcap.shapes.base import Changed
from tokcap.shapes.modes import Mode

NAMES = (f"s{number}" for number in itertools.count())
ORDER = ["raw", "table", "summary", "handle_only"]


@pytest.fixture
def ledger(with_store):
    return ledger_in(str(with_store))


def started(ledger, total, left):
    """Start a session of which so much is left; return its name."""
    name = next(NAMES)
    ledger.start(name, Settings(total))
    ledger.session(name).settle(None, total - left)
    return name


class TestTheLeastUsefulAnswer:
    def test_is_one_number_for_all_forms_and_the_envelope_comes_on_top(self):
        assert LEAST_TOKENS == 40
        assert {name: FORMS[name].least_tokens for name in FORMS} == {"text": 40, "json": 150, "jsonl": 150}

    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.parametrize("args", [[], ["-n", "300"], ["-n", "5000"], ["--token-count"]], ids=str)
    def test_with_less_left_nothing_runs(self, ledger, inside, tmp_path, form, args):
        least = FORMS[form].least_tokens
        ran_file = tmp_path / "ran"
        for total in (least, 10_000):
            for left in (1, 7, least - 1):
                name = started(ledger, total, left)
                ran = inside("--session", name, "-o", form, *args, "--", "touch", str(ran_file))
                assert ran.status == 120
                assert (
                    ran.err
                    == (
                        f"tokcap: the budget is exhausted: {left} tokens are left,"
                        f" the smallest answer needs {least}\n"
                    ).encode()
                )
                assert ledger.session(name).read().used == total - left
        assert not ran_file.exists()

    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.parametrize("left", [0, 1, 30])
    def test_with_as_much_or_more_the_answer_is_useful(self, ledger, inside, form, left):
        least = FORMS[form].least_tokens
        for total in (least + left, 10_000):
            name = started(ledger, total, least + left)
            ran = inside("--session", name, "-o", form, "--", "seq", "1", "1000")
            assert ran.status == 0
            assert b"tokcap show" in ran.out or b'"handle":' in ran.out
            assert ledger.session(name).read().used == total - least - left + recount(ran.out) <= total

    def test_a_limit_below_it_is_the_callers_own(self, ledger, inside):
        name = started(ledger, 1000, 1000)
        ran = inside("--session", name, "-n", "3", "--", "seq", "1", "1000")
        assert ran.status == 0
        assert recount(ran.out) <= 3

    def test_what_others_have_reserved_is_not_left(self, ledger, inside):
        name = started(ledger, 1000, 1000)
        ledger.session(name).reserve(990)
        ran = inside("--session", name, "--", "true")
        assert ran.status == 120
        assert b"10 tokens are left, 990 are reserved by running commands" in ran.err

    def test_a_check_says_no_when_the_next_run_is_refused(self, ledger, inside):
        for left, status in ((39, 1), (40, 0)):
            name = started(ledger, 1000, left)
            assert inside("budget", "check", name).status == status
            assert inside("--session", name, "--", "true").status == (120 if status else 0)


class TestSteps:
    @examples(5)
    @given(
        total=st.integers(4000, 30_000),
        percent=st.integers(6, 100),
        form=st.sampled_from(["text", "json", "jsonl"]),
        limit=st.sampled_from([[], ["-n", "100000"]]),
    )
    def test_a_mode_is_never_skipped_however_much_a_command_writes(
        self, ledger, inside, total, percent, form, limit
    ):
        name = started(ledger, total, total * percent // 100)
        modes = [ORDER.index(ledger.session(name).read().mode())]
        while (ran := inside("--session", name, "-o", form, *limit, "--", "seq", "1", "20000")).status == 0:
            modes.append(ORDER.index(ledger.session(name).read().mode()))
            assert ledger.session(name).read().used <= total
        assert ran.status == 120
        assert all(later - earlier in (0, 1) for earlier, later in itertools.pairwise(modes)), modes
        assert modes[-1] == ORDER.index("handle_only")

    @given(st.integers(0, 10**6), st.integers(0, 10**6), st.sampled_from([40, 150]))
    def test_what_one_answer_leaves_is_enough_for_the_next_mode(self, total, used, least):
        account = Account(Settings(total), used=used)
        most = account.most_for_one_answer(least)
        assert most >= least
        later = account.replace(used=used + min(most, max(total - used, 0)))
        steps = ORDER.index(later.mode()) - ORDER.index(account.mode())
        assert steps in (0, 1) or most == least


class ToyMode(Mode):
    """A mode from outside the package: only the number of bytes."""

    name = "toy"
    shows_payload = False
    terseness = 2

    def changed(self, payload, shape, facts):
        return Changed(f"{payload.size} bytes\n".encode(), "text")


TOY = ToyMode()


class TestAModeFromOutside:
    @pytest.fixture(autouse=True)
    def toy(self):
        MODES.add("toy", f"{__name__}:TOY")
        assert sys.modules[__name__]
        yield
        MODES.remove("toy")

    def test_works_in_a_session_and_gives_way_to_shorter_modes(self, ledger, inside):
        for left, expected in ((10_000, "toy"), (4000, "toy"), (1500, "toy"), (400, "handle_only")):
            name = started(ledger, 10_000, left)
            ran = inside("--session", name, "--mode", "toy", "-n", "300", "--", "seq", "1", "99")
            assert (ran.out == b"288 bytes\n") == (expected == "toy"), left
            assert (b"tokcap show" in ran.out) == (expected == "handle_only"), left

    def test_is_suggested_by_a_manager(self):
        from tokcap import BudgetManager, ResponseMode

        manager = BudgetManager(100)
        assert manager.suggested_mode("toy") == "toy"
        assert isinstance(manager.suggested_mode("toy"), ResponseMode)
        manager.record_usage(96)
        assert manager.suggested_mode("toy") is ResponseMode.HANDLE_ONLY
