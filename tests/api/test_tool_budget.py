"""`ToolBudget`: how many tokens a tool result may use, and a message that never changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.reference import recount
from tokcap import BadNumber, BudgetExhausted, ToolBudget, cap_result, count

LINES = "".join(f"line {number}\n" for number in range(2000))
DOCUMENT = [{"id": number, "name": f"item {number}"} for number in range(500)]


@given(
    window=st.integers(0, 500_000),
    used=st.integers(0, 600_000),
    share=st.sampled_from([0.1, 0.25, 0.29, 1.0]),
    floor=st.integers(0, 5000),
)
def test_the_allowance_is_the_formula(window, used, share, floor):
    budget = ToolBudget(window, used, result_pct=share, floor_tokens=floor)
    left = max(window - used, 0)
    assert budget.allowance == max(floor, min(window * round(share * 100) // 100, left))
    assert budget.compact_first == (left < floor)


@pytest.mark.parametrize("numbers", [{"context_window": -1}, {"used": -1}, {"result_pct": 2}])
def test_bad_numbers_are_refused(numbers):
    with pytest.raises(BadNumber):
        ToolBudget(**{"context_window": 5, **numbers}).apply("x")


def test_a_result_is_cut_to_the_allowance_by_cap_result(with_store):
    assert ToolBudget(100_000).apply(LINES) is LINES
    assert not with_store.exists()
    budget = ToolBudget(4000, used=3000, floor_tokens=200)
    for value in (LINES, LINES.encode(), DOCUMENT):
        message = budget.apply(value)
        assert message == cap_result(value, 1000, show=None) == budget.apply(value)
        assert "tokcap show" in str(message)
        assert type(message) is type(value)
    assert 800 < recount(budget.apply(LINES).encode()) <= budget.allowance == 1000
    assert budget.replace(used=budget.used + count(budget.apply(LINES))).compact_first


def test_a_full_context_without_a_floor_accepts_nothing():
    budget = ToolBudget(1000, used=1000, floor_tokens=0)
    assert (budget.allowance, budget.compact_first) == (0, False)
    with pytest.raises(BudgetExhausted, match="compact"):
        budget.apply("x")
