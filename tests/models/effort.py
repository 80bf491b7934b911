"""How long the models are played: briefly and always alike, or as many times longer as one asks."""

import os

from hypothesis import HealthCheck, settings

# TOKCAP_FUZZ_TIMES=50 plays fifty times as many games, and others each time.
TIMES = int(os.environ.get("TOKCAP_FUZZ_TIMES", "1"))


def effort(examples: int, steps: int = 50) -> settings:
    return settings(
        max_examples=examples * TIMES,
        stateful_step_count=steps,
        derandomize=TIMES == 1,
        database=None,
        deadline=None,
        suppress_health_check=tuple(HealthCheck),
    )
