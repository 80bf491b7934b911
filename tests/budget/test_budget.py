"""The arithmetic of budgets, and the manager that a library uses."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokcap import exits
from tokcap.api.manager import BudgetManager, TokenCounter, session_in_memory
from tokcap.budget.arithmetic import (
    MOST_TOKENS,
    Account,
    ResponseMode,
    Settings,
    Window,
    offer,
    result_share,
    share_of,
)
from tokcap.errors import BudgetExhausted, TokcapError
from tokcap.shapes import terser


def account(total, used=0, reserved=0, window_used=0) -> Account:
    return Account(Settings(total), used, reserved, window_used)


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
    assert offer(account(1_000, 0, 0, 32_000), None, window, None) == (1_000, False)
    assert offer(account(None, 0, 0, 32_000), None, window, None) == (2_000, True)
    assert offer(account(None, 0, 0, 32_000), 500, window, None) == (500, False)
    assert offer(account(None), None, window, 15_500) == (500, False)
    with pytest.raises(BudgetExhausted, match="this turn has used its 16000 tokens"):
        offer(account(None), None, window, 16_000)


def test_reservations_of_others_count_against_the_window():
    assert offer(account(None, 0, 25_000, 0), None, Window(32_000), None) == (7_000, False)


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


def test_a_session_and_a_storage_exclude_each_other():
    with pytest.raises(ValueError, match="not both"):
        BudgetManager(session="x", storage=session_in_memory(Settings()))
