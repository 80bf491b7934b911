"""The two tiers of the tests: everyday, and nightly, the same proofs in more depth.

`pytest` runs the everyday tier. `pytest --nightly` also runs what is marked `nightly`, and tries ten times as
many random examples, other ones in every run. A random test that fails prints how to repeat it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterable

nightly = pytest.mark.nightly

DEFAULT_EXAMPLES = 50
NIGHTLY_TIMES = 10
_times = 1


def choose_tier(is_nightly: bool) -> None:
    """Set how much random tests try. Called before any test module is imported."""
    global _times
    _times = NIGHTLY_TIMES if is_nightly else 1
    settings.register_profile("tokcap", examples(DEFAULT_EXAMPLES))
    settings.load_profile("tokcap")


def times() -> int:
    """Return how many times the everyday effort a test with a loop of its own makes."""
    return _times


def examples(number: int, **others) -> settings:
    """Return settings for a random test that tries this many examples every day.

    No deadline: how long an example takes depends on the load of the machine. No database: what an earlier
    run found must not decide what this one tries. Every everyday run tries the same examples.
    """
    return settings(
        max_examples=number * _times,
        derandomize=_times == 1,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=tuple(HealthCheck),
        **others,
    )


def some_everyday(cases: Iterable, number: int) -> list:
    """Return parameters for all cases: this many, evenly spread, are everyday, and the others are nightly."""
    cases = list(cases)
    if number >= len(cases):
        return cases
    chosen = {index * (len(cases) - 1) // max(number - 1, 1) for index in range(number)}
    return [case if index in chosen else as_nightly(case) for index, case in enumerate(cases)]


def as_nightly(case):
    """Return a parameter for one case, or for one tuple of values, that only the nightly tier tries."""
    if isinstance(case, type(pytest.param())):
        return pytest.param(*case.values, marks=[*case.marks, nightly], id=case.id)
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=nightly)
