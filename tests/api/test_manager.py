"""`BudgetManager` has the steps of `tokcap budget`, and the same names as the rest of the library."""

import os

import pytest

from tokcap import (
    BudgetExhausted,
    BudgetManager,
    SessionNotStarted,
    TokenizerUnavailable,
    UsageError,
    count,
    open_session,
    run,
)

pytestmark = pytest.mark.usefixtures("with_store")


class Words:
    def count(self, text):
        return len(text.split())


def test_the_total_has_one_name_everywhere_and_another_one_in_a_manager():
    assert BudgetManager(total_budget=500).total == BudgetManager(500).total == 500
    assert BudgetManager().total == 100_000
    assert BudgetManager(None).total is None
    with open_session("s", total=700) as budget:
        assert (budget.total, budget.used, budget.remaining) == (700, 0, 700)
    assert BudgetManager(700, session="s").total == 700
    with pytest.raises(UsageError, match="other settings"):
        BudgetManager(800, session="s")


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
    manager = BudgetManager(500, session=session)
    manager.record_usage(30)
    manager.allocate(100)
    assert manager.end() == 30
    for step in (lambda: manager.remaining, lambda: manager.allocate(1), manager.end):
        with pytest.raises(SessionNotStarted):
            step()
    if session:
        assert BudgetManager(900, session=session).used == 0


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


def test_the_environment_does_not_choose_the_session(monkeypatch):
    monkeypatch.setitem(os.environ, "TOKCAP_SESSION", "not-started")
    assert run(["echo", "hi"], limit=50).text == "hi\n"
    assert run(["echo", "hi"], limit=50, session=None).text == "hi\n"
    with pytest.raises(UsageError, match="name of a session"):
        run(["echo", "hi"], limit=50, session="")
