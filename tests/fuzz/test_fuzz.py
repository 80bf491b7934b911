"""A short attack on every target, and every input that has broken one before."""

import random

import pytest

from tests.fuzz import engine, found
from tests.fuzz.target import load_all
from tests.support.tiers import as_nightly, nightly, times

TARGETS = load_all()
LONG_ATTACK_SECONDS = 15
# Every everyday run has the same inputs, and every nightly run has others.
SEED = 1 if times() == 1 else random.SystemRandom().getrandbits(32)


def need_package(name):
    if package := TARGETS[name].package:
        pytest.importorskip(
            package, reason=f"the package {package} is not installed: pip install '.[nightly]'"
        )


@pytest.mark.parametrize(("name", "path"), [*found.cases()], ids=lambda value: getattr(value, "stem", value))
def test_what_was_found_once_stays_mended(name, path):
    TARGETS[name](path.read_bytes())


@pytest.mark.parametrize(
    "name", [as_nightly(name) if target.package else name for name, target in TARGETS.items()]
)
def test_a_short_attack_breaks_nothing(name):
    need_package(name)
    number = random.Random(f"{SEED} {name}").getrandbits(64)
    try:
        engine.try_round(TARGETS[name], number, TARGETS[name].examples * times())
    except engine.Failure as failure:
        small = found.smallest(failure.data, lambda data: found.fails(TARGETS[name], data))
        pytest.fail(f"{name}, seed {SEED}: {failure}\nwith the input {small!r}")


@nightly
@pytest.mark.parametrize("name", TARGETS)
def test_a_long_attack_breaks_nothing(name):
    """Rounds of other inputs for some seconds; `python -m tests.fuzz` goes on for as long as one asks."""
    need_package(name)
    try:
        engine.run_hypothesis(TARGETS[name], LONG_ATTACK_SECONDS)
    except engine.Failure as failure:
        small = found.smallest(failure.data, lambda data: found.fails(TARGETS[name], data))
        pytest.fail(f"{name}: {failure}\nwith the input {small!r}")
