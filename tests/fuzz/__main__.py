"""`python -m tests.fuzz [TARGET]... [--seconds N]`: attack for as long as one asks, and keep what breaks.

Every input that breaks a promise is made as small as it can be and written below tests/cases/found/, where
the ordinary tests replay it from then on.
"""

from __future__ import annotations

import argparse
import sys
import traceback

from tests.fuzz import engine, found
from tests.fuzz.target import Target, load_all


def main() -> int:
    targets = load_all()
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", nargs="*", help=f"one of {', '.join(targets)}; all of them by default")
    parser.add_argument("--seconds", type=float, default=60, help="for all targets together")
    parser.add_argument("--engine", choices=tuple(engine.ENGINES), help="atheris where it is installed")
    asked = parser.parse_args()
    if unknown := set(asked.target).difference(targets):
        parser.error(f"no target {', '.join(sorted(unknown))}; there are {', '.join(targets)}")
    chosen = [targets[name] for name in asked.target or targets]
    kind = asked.engine or ("atheris" if engine.has_atheris() else "hypothesis")
    run = engine.ENGINES[kind]
    broken = 0
    for target in chosen:
        try:
            number = run(target, asked.seconds / len(chosen))
        except engine.Failure as failure:
            broken += 1
            report(target, failure)
        else:
            print(f"{target.name}: {number} inputs, nothing found ({kind})", flush=True)
    return min(broken, 1)


def report(target: Target, failure: engine.Failure) -> None:
    data = failure.data
    if found.fails(target, data):
        data = found.smallest(data, lambda other: found.fails(target, other))
        try:
            target(data)
        except Exception as error:
            traceback.print_exception(error, chain=False)
    else:
        print(failure)
    print(f"{target.name}: BROKEN by {data[:200]!r}\n  kept as {found.keep(target, data)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
