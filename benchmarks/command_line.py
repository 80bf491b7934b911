"""What benchmarks with a command line share: rounds, the directory of the virtualenvs, progress, failures."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.environments import SetUpFailed, default_cache

if TYPE_CHECKING:
    from collections.abc import Callable


def tell(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def parser_of(program: str, description: str | None, rounds: int) -> argparse.ArgumentParser:
    """Return a parser that knows ROUNDS and `--cache`."""
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=description)
    parser.add_argument(
        "rounds", nargs="?", type=positive, default=rounds, metavar="ROUNDS", help=f"default: {rounds}"
    )
    parser.add_argument("--cache", type=Path, default=default_cache(), help="directory of the virtualenvs")
    return parser


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least one round")
    return number


def status_of(run: Callable[[], None]) -> int:
    """Run a benchmark and return its exit status; a virtualenv that cannot be made is one line."""
    try:
        run()
    except SetUpFailed as failure:
        tell(f"benchmarks: {failure}")
        return 1
    return 0
