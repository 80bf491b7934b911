"""`python -m tests.fuzz [TARGET]... [--seconds N]`: attack for as long as one asks, and keep what breaks.

The smallest input that breaks a promise is written below tests/cases/found/. The ordinary tests replay it.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback

from tests.fuzz.target import Target, attack, keep, load_all

# Inputs in one round. The clock is read between two rounds.
ROUND = 200


def attack_for(target: Target, seconds: float) -> int:
    """Try rounds of random inputs until the time is over. Return how many inputs there were."""
    deadline = time.monotonic() + seconds
    rounds = 0
    while time.monotonic() < deadline:
        attack(target, random.SystemRandom().getrandbits(64), ROUND)
        rounds += 1
    return rounds * ROUND


def main() -> int:
    targets = load_all()
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", nargs="*", help=f"one of {', '.join(targets)}; all of them by default")
    parser.add_argument("--seconds", type=float, default=60, help="for all targets together")
    asked = parser.parse_args()
    if unknown := set(asked.target).difference(targets):
        parser.error(f"no target {', '.join(sorted(unknown))}; there are {', '.join(targets)}")
    chosen = [targets[name] for name in asked.target or targets]
    status = 0
    for target in chosen:
        try:
            number = attack_for(target, asked.seconds / len(chosen))
        except Exception as error:
            status = 1
            traceback.print_exception(error, chain=False)
            print(f"{target.name}: BROKEN, kept as {keep(target)}", flush=True)
        else:
            print(f"{target.name}: {number} inputs, nothing found", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
