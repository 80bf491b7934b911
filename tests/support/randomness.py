"""How much the random tests try, and with which seed.

By default every run draws the same examples, so a failure can be seen again and a green run stays green.
TOKCAP_FUZZ_TIMES=50 tries fifty times as many examples, and other ones in every run. `--hypothesis-seed`
repeats such a run.
"""

import os

from hypothesis import HealthCheck, settings

TIMES = int(os.environ.get("TOKCAP_FUZZ_TIMES", "1"))
DEFAULT_EXAMPLES = 100


def choose_profile() -> None:
    """Set what holds for every test that uses hypothesis and does not say otherwise.

    No deadline: how long an example takes depends on the load of the machine. No database: what an earlier
    run found must not decide what this one tries.
    """
    settings.register_profile(
        "tokcap",
        max_examples=DEFAULT_EXAMPLES * TIMES,
        derandomize=TIMES == 1,
        database=None,
        deadline=None,
        print_blob=True,
    )
    settings.load_profile("tokcap")


def effort(examples: int, steps: int = 50) -> settings:
    """Return the settings of a model that is played this many times, or as many times more as one asks."""
    return settings(
        max_examples=examples * TIMES,
        stateful_step_count=steps,
        derandomize=TIMES == 1,
        database=None,
        deadline=None,
        suppress_health_check=tuple(HealthCheck),
    )
