"""A short attack on every target, and every input that has broken one before."""

import random

import pytest

from tests.fuzz import engine, found
from tests.fuzz.target import load_all
from tests.support.tiers import times

TARGETS = load_all()
# Every everyday run has the same inputs, and every nightly run has others.
SEED = 1 if times() == 1 else random.SystemRandom().getrandbits(32)


@pytest.mark.parametrize(("name", "path"), [*found.cases()], ids=lambda value: getattr(value, "stem", value))
def test_what_was_found_once_stays_mended(name, path):
    TARGETS[name](path.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_a_short_attack_breaks_nothing(name):
    number = random.Random(f"{SEED} {name}").getrandbits(64)
    try:
        engine.try_round(TARGETS[name], number, TARGETS[name].examples * times())
    except engine.Failure as failure:
        small = found.smallest(failure.data, lambda data: found.fails(TARGETS[name], data))
        pytest.fail(f"{name}, seed {SEED}: {failure}\nwith the input {small!r}")


def test_a_failure_is_made_small():
    assert (
        found.smallest(b"knobs!!!" + b"xyz" * 100 + b"[" + b"q" * 50, lambda data: b"[" in data)
        == b"\0" * 8 + b"["
    )
