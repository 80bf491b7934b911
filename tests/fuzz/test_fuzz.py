"""A short attack on every target, and every input that has broken one before."""

import random

import pytest

from tests.fuzz.target import FOUND, attack, load_all
from tests.support.tiers import as_nightly, times

TARGETS = load_all()
# Every everyday run has the same inputs, and every nightly run has others.
SEED = 1 if times() == 1 else random.SystemRandom().getrandbits(32)


@pytest.mark.parametrize(
    "path", sorted(FOUND.glob("*/*.bin")), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_what_was_found_once_stays_mended(path):
    TARGETS[path.parent.name](path.read_bytes())


@pytest.mark.parametrize(
    "name", [as_nightly(name) if target.package else name for name, target in TARGETS.items()]
)
def test_an_attack_breaks_nothing(name):
    target = TARGETS[name]
    if target.package:
        reason = f"the package {target.package} is not installed: pip install '.[nightly]'"
        pytest.importorskip(target.package, reason=reason)
    number = random.Random(f"{SEED} {name}").getrandbits(64)
    try:
        attack(target, number, target.examples * times())
    except Exception as error:
        error.add_note(f"{name}, seed {SEED}, broken by {target.last!r}")
        raise
