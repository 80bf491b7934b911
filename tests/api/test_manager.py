"""`BudgetManager` has the steps of `tokcap budget`, and the same names as the rest of the library."""

import inspect
import os

import pytest

from tokcap import (
    BudgetExhausted,
    BudgetManager,
    SessionNotStarted,
    TokenizerUnavailable,
    ToolBudget,
    UsageError,
    cap,
    count,
    open_session,
    run,
    show,
)

pytestmark = pytest.mark.usefixtures("with_store")


class Words:
    def count(self, text):
        return len(text.split())


def test_the_total_has_one_name_everywhere_and_another_one_in_a_manager():
    assert BudgetManager(total=500).total == BudgetManager(total_budget=500).total == BudgetManager(500).total
    assert BudgetManager().total == 100_000
    assert BudgetManager(total=None).total is BudgetManager(None).total is None
    with pytest.raises(ValueError, match="give total or total_budget, not both"):
        BudgetManager(500, total=600)
    with open_session("s", total=700) as budget:
        assert (budget.total, budget.used, budget.remaining) == (700, 0, 700)
    assert BudgetManager(total=700, session="s").total == 700
    with pytest.raises(UsageError, match="other settings"):
        BudgetManager(total=800, session="s")


def test_every_result_has_text():
    result = run(["printf", "one\\ntwo\\n"], limit=100, spill="always")
    assert result.text == result.stdout == "one\ntwo\n"
    assert show(result.handle).text == cap("one\ntwo\n", 100).text == result.text
    assert ToolBudget(8000).apply("one\ntwo\n").text == result.text


def test_what_is_left_has_one_name():
    budget = ToolBudget(8000, used=7000)
    assert budget.remaining == 1000
    assert BudgetManager(1000).remaining == 1000


def test_help_shows_the_parameters_of_a_tool_budget():
    assert list(inspect.signature(ToolBudget).parameters) == [
        "context_window",
        "used",
        "result_pct",
        "floor_tokens",
        "tokenizer",
    ]
    for function in (BudgetManager, ToolBudget, open_session, ToolBudget.apply):
        kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
        assert not kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    budget = ToolBudget(8000)
    assert (budget.used, budget.result_pct, budget.floor_tokens, budget.tokenizer) == (
        0,
        0.25,
        2000,
        "cl100k_base",
    )
    assert budget == ToolBudget(context_window=8000)
    assert budget.but(used=5) == ToolBudget(8000, 5)


def test_text_is_counted_by_the_tokenizer_of_a_name():
    text = "Language models pay by the token. Üñïçødé 🙂"
    for name in ("cl100k_base", "o200k_base", "approx"):
        assert BudgetManager(tokenizer=name).count(text) == count(text, name)
        with open_session(f"by-{name}", tokenizer=name) as budget:
            assert budget.count(text) == count(text, name)
    with pytest.raises(TokenizerUnavailable):
        BudgetManager(tokenizer="no_such_tokenizer")
    with pytest.raises(ValueError, match="not both"):
        BudgetManager(tokenizer="cl100k_base", token_counter=Words())
    # A string has a method `count` too.
    with pytest.raises(TypeError, match="use tokenizer"):
        BudgetManager(token_counter="cl100k_base")


@pytest.mark.parametrize("session", [None, "work"])
def test_a_session_ends(session):
    manager = BudgetManager(total=500, session=session)
    manager.record_usage(30)
    manager.allocate(100)
    assert manager.end() == 30
    for step in (lambda: manager.remaining, lambda: manager.allocate(1), manager.end):
        with pytest.raises(SessionNotStarted):
            step()
    if session:
        assert BudgetManager(total=900, session=session).used == 0


def test_the_end_of_a_block_after_the_end_of_its_session_is_silent():
    with open_session("short", total=500) as budget:
        budget.allocate(100)
        budget.end()


def test_a_turn_limits_later_allocations_and_runs():
    with open_session("s", context_window=1000, floor_tokens=0) as budget:
        first = budget.turn()
        assert budget.allocate(200) == 200
        budget.record_usage(200)
        used = run(["seq", "1", "1000"], session="s", turn=first).returned_tokens
        assert 200 < used <= 250
        assert budget.allocate(1000) == 500 - 200 - used
        with pytest.raises(BudgetExhausted, match="this turn has used its 500 tokens"):
            budget.allocate(1)
        assert budget.turn("second") == "second" != first
        assert budget.allocate(100) == 100


def test_a_bad_turn_is_refused_and_the_last_one_stays():
    manager = BudgetManager(1000)
    manager.turn("good")
    for bad in ("", "a\0b"):
        with pytest.raises(UsageError, match="a turn must be"):
            manager.turn(bad)
    manager.allocate(10)
    assert manager._session.turn("good") == 10


def test_compaction_empties_the_window_and_not_the_total():
    with open_session("s", total=10_000, context_window=4000, floor_tokens=100) as budget:
        budget.record_usage(3950)
        assert budget.allocate(1000) == 100
        budget.release()
        budget.compacted(used=500)
        assert budget.allocate(1000) == 1000
        assert budget.used == 3950


def test_the_environment_does_not_choose_the_session(monkeypatch):
    monkeypatch.setitem(os.environ, "TOKCAP_SESSION", "not-started")
    assert run(["echo", "hi"], limit=50).text == "hi\n"
    assert run(["echo", "hi"], limit=50, session=None).text == "hi\n"
    with pytest.raises(UsageError, match="name of a session"):
        run(["echo", "hi"], limit=50, session="")
