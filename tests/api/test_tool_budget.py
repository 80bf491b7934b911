"""`ToolBudget`: how many tokens a tool result may use, and a message that never changes."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.reference import recount
from tokcap import BadNumber, BudgetExhausted, ToolBudget, show

LINES = "".join(f"line {number}\n" for number in range(2000))
DOCUMENT = json.dumps([{"id": number, "name": f"item {number}"} for number in range(500)])


@given(
    window=st.integers(0, 500_000),
    used=st.integers(0, 600_000),
    share=st.sampled_from([0.1, 0.25, 0.29, 1.0]),
    floor=st.integers(0, 5000),
)
def test_the_allowance_is_the_formula(window, used, share, floor):
    budget = ToolBudget(window, used, result_pct=share, floor_tokens=floor)
    assert budget.allowance == max(floor, min(budget.baseline, budget.remaining))
    assert budget.baseline == window * round(share * 100) // 100
    assert budget.compact_first == (budget.remaining < floor)


def test_bad_numbers_are_refused_at_once():
    for arguments in (
        {"context_window": -1},
        {"context_window": 5, "used": -1},
        {"context_window": 5, "result_pct": 2},
    ):
        with pytest.raises(BadNumber):
            ToolBudget(**arguments)


def test_a_result_that_fits_is_unchanged(with_store):
    message = ToolBudget(100_000).apply(LINES)
    assert (message.text, message.truncated, message.handle) == (LINES, False, None)
    assert not with_store.exists()


@pytest.mark.parametrize(
    "text", [LINES, DOCUMENT, DOCUMENT.replace("}, {", "}\n{")[1:-1], "a,b\n" + "1,2\n" * 3000]
)
@pytest.mark.parametrize("keep", ["head", "tail", "ends"])
def test_a_larger_result_is_stored_and_names_the_next_command_within_its_allowance(text, keep, with_store):
    budget = ToolBudget(4000, used=3000, floor_tokens=200)
    message = budget.apply(text, keep=keep)
    assert recount(message.data) <= budget.allowance == 1000
    assert message.returned_tokens > 800
    assert message.truncated
    (handle,) = re.findall(r"tokcap show (\w+)", message.text)
    assert handle == message.handle
    assert show(handle, limit=100_000).text == text


def test_a_preview_of_json_is_json_and_the_hint_is_a_line_below(with_store):
    *preview, words = ToolBudget(2000, floor_tokens=0).apply(DOCUMENT).text.splitlines()
    assert any(str(value).startswith("[TRUNCATED]") for value in json.loads("\n".join(preview)))
    assert words.startswith("[TRUNCATED] ")
    for window in range(200, 400, 4):
        budget = ToolBudget(window, floor_tokens=0)
        assert recount(budget.apply(DOCUMENT).data) <= budget.allowance


def test_the_preview_shows_what_failed_in_the_middle(with_store):
    text = LINES + "fatal: the disk is full\n" + LINES
    assert "fatal: the disk is full" in ToolBudget(2000, floor_tokens=0).apply(text).text
    assert "fatal: the disk is full" not in ToolBudget(2000, floor_tokens=0).apply(text, keep="head").text


def test_a_full_context_without_a_floor_accepts_nothing():
    budget = ToolBudget(1000, used=1000, floor_tokens=0)
    assert (budget.allowance, budget.compact_first) == (0, False)
    with pytest.raises(BudgetExhausted, match="compact"):
        budget.apply("x")


@pytest.mark.parametrize("keep", ["head", "tail", "ends"])
def test_if_nothing_can_be_stored_the_message_names_no_command(monkeypatch, tmp_path, keep):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TOKCAP_DATA_DIR", str(tmp_path / "file" / "below"))
    few_records = json.dumps(json.loads(DOCUMENT)[:60])
    for text in (few_records, json.dumps("z" * 500), json.dumps({"key": "z" * 500})):
        message = ToolBudget(100, floor_tokens=0).apply(text, keep=keep).text
        assert "[TRUNCATED]" in message
        assert "tokcap show" not in message
