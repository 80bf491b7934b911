"""The arithmetic of budgets, and the manager that a library uses."""

import os
import pickle
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokcap import exits
from tokcap.api.manager import BudgetManager, TokenCounter, session_in_memory
from tokcap.budget.arithmetic import (
    MOST_TOKENS,
    Account,
    Offer,
    Settings,
    Window,
    offer,
    result_share,
    share_of,
)
from tokcap.budget.modes import ResponseMode
from tokcap.budget.sqlite import SqliteLedger
from tokcap.environment import Environment
from tokcap.errors import BudgetExhausted, SessionNotStarted, TokcapError, UsageError
from tokcap.shapes import terser


def account(total, used=0, reserved=0, window_used=0) -> Account:
    return Account(Settings(total), used, reserved, window_used)


def test_a_grant_is_the_request_or_what_is_left():
    manager = BudgetManager(1000)
    assert manager.allocate(700) == 700
    assert manager.remaining == 300
    assert manager.allocate(700) == 300
    assert manager.remaining == 0


def test_settling_frees_what_was_not_used():
    manager = BudgetManager(1000)
    manager.allocate(700)
    manager.record_usage(100)
    assert manager.remaining == 900
    assert manager.usage_fraction == 0.1


def test_usage_above_the_reservation_is_recorded():
    manager = BudgetManager(1000)
    manager.allocate(500)
    manager.record_usage(1500)
    assert manager.remaining == 0
    assert manager.usage_fraction == 1.5
    with pytest.raises(BudgetExhausted, match="1500 of 1000 tokens are used"):
        manager.allocate(1)


def test_several_allocations_are_settled_one_after_the_other():
    manager = BudgetManager(1000)
    manager.allocate(300)
    manager.allocate(200)
    manager.record_usage(10)
    assert manager.remaining == 1000 - 10 - 200
    manager.record_usage(20)
    assert manager.remaining == 1000 - 30


def test_usage_without_an_allocation_is_counted():
    manager = BudgetManager(1000)
    manager.record_usage(300)
    assert manager.remaining == 700


def test_an_exhausted_budget_refuses_even_zero_tokens_with_status_120():
    manager = BudgetManager(10)
    assert manager.allocate(0) == 0
    manager.allocate(10)
    with pytest.raises(BudgetExhausted, match="10 are reserved") as refused:
        manager.allocate(0)
    assert refused.value.exit_status == exits.BUDGET_EXHAUSTED == 120
    assert refused.value.code == "BUDGET_EXHAUSTED"
    assert isinstance(refused.value, TokcapError)


def test_a_total_of_zero_is_exhausted_from_the_start():
    manager = BudgetManager(0)
    assert (manager.remaining, manager.usage_fraction, manager.suggested_mode()) == (0, 1.0, "handle_only")
    with pytest.raises(BudgetExhausted):
        manager.allocate(1)


def test_without_a_total_nothing_is_refused_and_usage_is_tracked():
    manager = BudgetManager(None)
    assert manager.allocate(10**9) == 10**9
    manager.record_usage(10**9)
    assert (manager.remaining, manager.usage_fraction, manager.suggested_mode("raw")) == (None, 0.0, "raw")


def test_the_default_is_a_hundred_thousand():
    assert BudgetManager().remaining == 100_000


@pytest.mark.parametrize("nonsense", [-1, 1.5, True, None])
def test_a_value_that_is_not_a_number_of_tokens_is_refused(nonsense):
    manager = BudgetManager(1000)
    if nonsense is not None:
        with pytest.raises(ValueError, match="whole number of tokens"):
            manager.allocate(nonsense)
        with pytest.raises(ValueError, match="whole number of tokens"):
            BudgetManager(nonsense)
    manager.allocate(100)
    with pytest.raises(ValueError, match="whole number of tokens"):
        manager.record_usage(nonsense)
    manager.record_usage(30)
    assert manager.remaining == 970, "the refusal lost the allocation"


def test_a_request_above_every_number_asks_for_everything():
    assert BudgetManager(1000).allocate(10**40) == 1000
    assert BudgetManager(None).allocate(10**40) == MOST_TOKENS


class Words:
    def count(self, text: str) -> int:
        return len(text.split())


def test_text_is_counted_by_the_counter_or_by_its_characters():
    assert isinstance(Words(), TokenCounter)
    assert BudgetManager(token_counter=Words()).count("one two three") == 3
    assert [BudgetManager().count("x" * n) for n in (0, 1, 4, 5, 8)] == [0, 1, 1, 2, 2]


# Both sides of each border in the contract's table. One of 10,000 tokens is 0.01 %.
@pytest.mark.parametrize(
    ("left", "modes"),
    [
        (10_000, "raw table summary handle_only"),
        (5_001, "raw table summary handle_only"),
        (5_000, "table table summary handle_only"),
        (4_999, "table table summary handle_only"),
        (2_001, "table table summary handle_only"),
        (2_000, "summary summary summary handle_only"),
        (1_999, "summary summary summary handle_only"),
        (501, "summary summary summary handle_only"),
        (500, "summary summary summary handle_only"),
        (499, "handle_only handle_only handle_only handle_only"),
        (0, "handle_only handle_only handle_only handle_only"),
        (-5_000, "handle_only handle_only handle_only handle_only"),
    ],
)
def test_the_mode_follows_what_is_left(left, modes):
    manager = BudgetManager(10_000)
    manager.record_usage(10_000 - left)
    assert [manager.suggested_mode(mode) for mode in ResponseMode] == modes.split()


def test_reserved_tokens_do_not_change_the_mode():
    manager = BudgetManager(1000)
    manager.allocate(1000)
    assert manager.suggested_mode("raw") == "raw"


@given(st.integers(0, MOST_TOKENS), st.integers(0, MOST_TOKENS), st.sampled_from(list(ResponseMode)))
def test_a_mode_is_never_longer_than_requested_or_than_with_more_left(total, used, asked):
    order = list(ResponseMode)
    mode = terser(asked, account(total, used).mode())
    assert order.index(mode) >= order.index(asked)
    assert order.index(terser(asked, account(total, used + 1).mode())) >= order.index(mode)


def test_modes_are_plain_words_with_names():
    assert [*ResponseMode] == ["raw", "table", "summary", "handle_only"]
    assert ResponseMode.SUMMARY == "summary"
    assert f"{ResponseMode.SUMMARY}" == "summary"
    assert {ResponseMode.HANDLE_ONLY: 1}["handle_only"] == 1
    assert ResponseMode("table") is ResponseMode.TABLE
    assert pickle.loads(pickle.dumps(ResponseMode.RAW)) is ResponseMode.RAW
    with pytest.raises(ValueError, match="one of raw, table, summary, handle_only"):
        BudgetManager().suggested_mode("loud")


@pytest.mark.parametrize(
    ("window", "tokens"),
    [(32_000, 8_000), (128_000, 32_000), (200_000, 50_000), (1_000_000, 250_000), (4_000, 2_000)],
)
def test_one_result_gets_a_quarter_of_the_window(window, tokens):
    assert result_share(Window(window), 0).tokens == tokens
    assert Window(window).turn_tokens == window // 2


@pytest.mark.parametrize(
    ("taken", "tokens", "floor_decides"),
    [
        (0, 8_000, False),
        (24_000, 8_000, False),
        (24_001, 7_999, False),
        (30_000, 2_000, False),
        (30_001, 2_000, True),
        (32_000, 2_000, True),
        (99_000, 2_000, True),
    ],
)
def test_what_is_left_of_the_window_limits_a_result_down_to_the_floor(taken, tokens, floor_decides):
    share = result_share(Window(32_000), taken)
    assert (share.tokens, share.floor_decides) == (tokens, floor_decides)


def test_a_fraction_counts_as_it_is_written():
    assert share_of(100, 0.29) == 29
    assert share_of(1000, 0.001) == 1
    assert share_of(7, 0.5) == 3
    assert share_of(32_000, 1.0) == 32_000


def test_the_total_and_the_turn_win_over_the_floor():
    window = Window(32_000)
    assert offer(account(1_000, 0, 0, 32_000), None, window, None) == Offer(1_000, False)
    assert offer(account(None, 0, 0, 32_000), None, window, None) == Offer(2_000, True)
    assert offer(account(None, 0, 0, 32_000), 500, window, None) == Offer(500, False)
    assert offer(account(None), None, window, 15_500) == Offer(500, False)
    with pytest.raises(BudgetExhausted, match="this turn has used its 16000 tokens"):
        offer(account(None), None, window, 16_000)


def test_reservations_of_others_count_against_the_window():
    assert offer(account(None, 0, 25_000, 0), None, Window(32_000), None) == Offer(7_000, False)


def test_a_turn_has_its_share_and_the_next_turn_too():
    storage = session_in_memory(Settings(context_window=32_000))
    grants = [storage.reserve(None, turn="1") for _ in range(2)]
    assert [grant.tokens for grant in grants] == [8_000, 8_000]
    with pytest.raises(BudgetExhausted):
        storage.reserve(None, turn="1")
    assert storage.reserve(None, turn="2").tokens == 8_000
    storage.settle(grants[0], 100)
    assert storage.reserve(None, turn="1").tokens == 7_900


def test_without_any_limit_a_grant_has_none():
    grant = session_in_memory(Settings()).reserve(None, turn="1")
    assert grant.tokens is None
    assert grant.account.reserved == 0


def test_compaction_empties_the_window_and_not_the_total():
    storage = session_in_memory(Settings(total=100_000, context_window=32_000))
    storage.settle(storage.reserve(None), 31_000)
    assert storage.reserve(None).floor_decides
    after = storage.compacted(4_000)
    assert (after.used, after.window_used) == (31_000, 4_000)
    assert storage.reserve(None).tokens == 8_000


def test_a_model_call_sets_what_the_context_holds():
    storage = session_in_memory(Settings(context_window=32_000))
    for _ in range(3):
        storage.record(20_000, 500)
    after = storage.read()
    assert (after.used, after.window_used) == (61_500, 20_500)


def test_a_key_counts_once():
    storage = session_in_memory(Settings(1000))
    assert storage.record(10, 20, key="a").counted
    again = storage.record(10, 20, key="a")
    assert not again.counted
    assert again.account.used == 30
    assert storage.record(10, 20).account.used == 60


steps = st.lists(
    st.one_of(
        st.tuples(st.just("allocate"), st.integers(0, 400)),
        st.tuples(st.just("record"), st.integers(0, 400)),
    ),
    max_size=60,
)


@given(st.integers(0, 1000), steps)
def test_grants_never_exceed_the_total_and_remaining_is_what_is_neither_used_nor_reserved(total, steps):
    manager = BudgetManager(total)
    used, open_grants = 0, []
    for step, tokens in steps:
        if step == "allocate":
            left = total - used - sum(open_grants)
            try:
                grant = manager.allocate(tokens)
            except BudgetExhausted:
                assert left <= 0
            else:
                assert left > 0
                assert grant == min(tokens, left)
                open_grants.append(grant)
        else:
            used += tokens
            open_grants[:1] = []
            manager.record_usage(tokens)
        assert manager.remaining == max(0, total - used - sum(open_grants))
        assert manager.usage_fraction == (used / total if total else 1.0)


@given(st.integers(1, 1000), st.lists(st.tuples(st.integers(1, 400), st.integers(0, 400)), max_size=40))
def test_usage_within_the_grants_never_exceeds_the_total(total, runs):
    manager = BudgetManager(total)
    used = 0
    for requested, wanted in runs:
        try:
            actual = min(manager.allocate(requested), wanted)
        except BudgetExhausted:
            assert used == total
            return
        manager.record_usage(actual)
        used += actual
    assert used <= total
    assert manager.remaining == total - used


def test_threads_share_a_manager_and_every_token_is_counted():
    manager = BudgetManager(8 * 500)
    granted_tokens = []

    def work():
        for _ in range(500):
            granted_tokens.append(manager.allocate(1))
            manager.record_usage(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(granted_tokens) == 8 * 500
    assert manager.remaining == 0


def test_a_manager_with_a_session_uses_the_ledger():
    BudgetManager(5_000, session="shared").record_usage(1_000)
    assert BudgetManager(5_000, session="shared").remaining == 4_000
    assert BudgetManager(session="shared").remaining == 4_000, "a total left at its default joins"
    with pytest.raises(UsageError, match="tokcap budget end shared"):
        BudgetManager(6_000, session="shared")
    ledger = SqliteLedger(Environment(os.environ).data_dir())
    assert ledger.read("shared").used == 1_000
    ledger.end("shared")
    with pytest.raises(SessionNotStarted):
        ledger.read("shared")


def test_a_session_and_a_storage_exclude_each_other():
    with pytest.raises(ValueError, match="not both"):
        BudgetManager(session="x", storage=session_in_memory(Settings()))
