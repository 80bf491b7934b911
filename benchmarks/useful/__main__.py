"""`python -m benchmarks.useful [DIR ...]`: how much of what a reader must see each policy shows.

Replays the outputs of each directory (default: those of the project) through tokcap and through the rules
of others, and prints recall in percent and the checks.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.useful import report, written
from benchmarks.useful.outputs import OWN, load
from benchmarks.useful.policies import Replays, all_policies
from benchmarks.useful.recall import LIMITS, measure_all


def tell(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.useful", description=__doc__)
    parser.add_argument("directories", nargs="*", type=Path, metavar="DIR", help="directories of outputs")
    parser.add_argument("--policy", action="append", metavar="NAME", help="only this policy; may be repeated")
    parser.add_argument("--limit", action="append", type=int, metavar="N", help="default: 500, 2000 and 8000")
    parser.add_argument("--by-output", action="store_true", help="a row per output, with what is missing")
    parser.add_argument("--by-kind", action="store_true", help="a row per kind of output")
    parser.add_argument(
        "--program",
        action="append",
        default=[],
        metavar="TEMPLATE",
        help="also this one: 'tooltrim -n {tokens}'",
    )
    parser.add_argument("--merge", action="store_true", help="call tokcap with --stderr merge")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to a file")
    parser.add_argument(
        "--write",
        action="store_true",
        help="measure the outputs of the project; write results, table and picture",
    )
    return parser


def main() -> int:
    parser = arguments()
    given = parser.parse_args()
    if given.write and (given.directories or given.policy or given.limit or given.merge or given.program):
        parser.error("--write measures all of the project as it is")
    directories = given.directories or [OWN]
    limits = written.LIMITS if given.write else sorted(set(given.limit or LIMITS))
    policies = all_policies(Replays(Path()), given.program)
    if unknown := set(given.policy or ()) - set(policies):
        parser.error(f"no policy {', '.join(sorted(unknown))}; there are {', '.join(policies)}")
    chosen = [
        policy
        for name, policy in policies.items()
        if name in (given.policy or policies) or name in given.program
    ]
    names = [policy.name for policy in chosen]
    measured = measure_all(directories, names, limits, merge=given.merge, programs=given.program, tell=tell)
    if given.by_output:
        print(report.by_output(measured))
    print(report.as_text(measured, chosen, limits))
    print(report.intervals(measured, chosen, limits))
    if given.by_kind:
        print(report.by_kind(measured, chosen, limits))
    print(report.checks(measured))
    outputs = [output for directory in directories for output in load(directory)]
    results = report.as_json(measured, chosen, limits, outputs)
    if given.json:
        given.json.write_text(results)
    if given.write:
        written.write(results)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
