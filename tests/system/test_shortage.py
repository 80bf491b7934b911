"""A lack of memory is reported as that, whatever Python calls it. What the failed functions held is freed."""

import weakref

import pytest

from tokcap import pipeline
from tokcap.steps import rescue as rescue_step

MISTAKEN = [
    SystemError("error return without exception set"),
    SystemError("<built-in function compile> returned NULL without setting an exception"),
    SystemError("Objects/dictobject.c:1: bad argument to internal function"),
    SyntaxError("expected ':'"),
]


@pytest.mark.parametrize("error", [MemoryError(), *MISTAKEN], ids=repr)
def test_it_is_one_line_about_memory_and_status_125(error, inside, monkeypatch):
    def fail(*_):
        raise error

    monkeypatch.setattr(pipeline, "open_call", fail)
    ran = inside("-n", "50", stdin=b"hi\n")
    assert (ran.status, ran.out) == (125, b"")
    (line,) = ran.err.decode().splitlines()
    assert line.startswith("tokcap: not enough memory")
    assert "internal error" not in line


@pytest.mark.provokes("TOKENIZER_FAILED", "CUT_FAILED")
@pytest.mark.parametrize("error", [MemoryError, SystemError])
def test_what_a_failed_attempt_held_is_free_before_the_next_one(error, inside, monkeypatch):
    """Handling the error needs memory, and Python can loop forever if there is none."""
    held = []

    class Large:
        pass

    def fail(*_):
        large = Large()
        held.append(weakref.ref(large))
        raise error

    def look(attempt, caught):
        assert [large() for large in held] == [None] * len(held)
        return rescue(attempt, caught)

    rescue = rescue_step.rescue
    monkeypatch.setattr("tokcap.steps.examination.examine", fail)
    monkeypatch.setattr(rescue_step, "rescue", look)
    ran = inside("-n", "50", "--shape", "text", "--", "sh", "-c", "seq 1 3000; exit 3")
    assert held
    assert ran.status == 3
    assert ran.out.startswith(b"1\n")
