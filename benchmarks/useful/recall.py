"""Measure every policy on every output: which needles are shown, and what is wrong with the answer."""

from __future__ import annotations

import os
import random
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, ClassVar

from benchmarks.useful.needles import is_found, plain
from benchmarks.useful.outputs import count, load
from benchmarks.useful.policies import REFERENCE, Replays, all_policies
from benchmarks.useful.structure import CHECKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from benchmarks.useful.outputs import Needle, Output
    from benchmarks.useful.policies import Policy

LIMITS = (500, 2000, 8000)
# By how many needles a policy may be worse than the reference on one output.
ALLOWED_FEWER = 1
# How often the outputs are drawn again for an interval.
DRAWS = 2000


@dataclass(frozen=True)
class Measured:
    """One output, shown by one policy within one limit."""

    output: str
    policy: str
    limit: int
    needles: int
    missing: tuple[Needle, ...]
    # What a reader gets, recounted.
    tokens: int
    is_structured: bool
    # The exit status is that of the command, and structured output is valid.
    keeps_status: bool = True
    parses: bool = True
    kind: str = ""

    @property
    def found(self) -> int:
        return self.needles - len(self.missing)

    @property
    def recall(self) -> float:
        return self.found / self.needles

    @property
    def keeps_limit(self) -> bool:
        return self.tokens <= self.limit


def measure(output: Output, policy: Policy, limit: int) -> Measured:
    shown = policy.show(output, limit)
    text = plain(shown.together.decode("utf-8", "replace"))
    structure = policy.structure(output)
    return Measured(
        output.id,
        policy.name,
        limit,
        len(output.needles),
        tuple(needle for needle in output.needles if not is_found(needle, text)),
        count(shown.together),
        bool(structure),
        shown.status == output.exit,
        not structure or CHECKS[structure](shown.out),
        output.kind,
    )


def measure_all(
    directories: Sequence[Path],
    names: Iterable[str],
    limits: Sequence[int],
    *,
    merge: bool = False,
    programs: Sequence[str] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> list[Measured]:
    """Measure all outputs that are larger than the limit, with a process per core, in order."""
    cases = [
        (directory, output.id, limit)
        for directory in directories
        for output in load(directory)
        for limit in limits
        if output.tokens > limit
    ]
    with TemporaryDirectory(prefix="tokcap-useful-") as place:
        found = []
        with ProcessPoolExecutor(
            os.cpu_count(), initializer=Worker.start, initargs=(place, merge, programs)
        ) as pool:
            for name in names:
                tell(name)
                found += pool.map(Worker.measure, *zip(*((*case, name) for case in cases), strict=True))
        return found


class Worker:
    """What a process of the pool keeps between two measurements."""

    policies: ClassVar[dict[str, Policy]] = {}
    outputs: ClassVar[dict[tuple[Path, str], Output]] = {}

    @classmethod
    def start(cls, place: str, merge: bool, programs: Sequence[str]) -> None:
        own = Path(place) / str(os.getpid())
        own.mkdir()
        os.environ["TOKCAP_DATA_DIR"] = str(own / "data")
        cls.policies = all_policies(Replays(own, merge), programs)

    @classmethod
    def measure(cls, directory: Path, name: str, limit: int, policy: str) -> Measured:
        if (directory, name) not in cls.outputs:
            cls.outputs |= {(directory, output.id): output for output in load(directory)}
        return measure(cls.outputs[directory, name], cls.policies[policy], limit)


def recall_of(measured: Iterable[Measured]) -> float:
    """Return the mean over the outputs, in percent."""
    recalls = [each.recall for each in measured]
    return 100 * sum(recalls) / len(recalls) if recalls else 100.0


def interval_of(measured: Iterable[Measured]) -> tuple[float, float]:
    """Return between which values 95 % of the means lie if outputs are drawn again, in percent."""
    recalls = [each.recall for each in measured] or [1.0]
    chance = random.Random(95)  # noqa: S311  # the same draws in every run
    means = sorted(100 * fmean(chance.choices(recalls, k=len(recalls))) for _ in range(DRAWS))
    return means[DRAWS // 40], means[-DRAWS // 40 - 1]


def worse_than_reference(measured: Sequence[Measured]) -> list[tuple[Measured, Measured]]:
    """Return answers that miss more needles than allowed, each with that of the reference policy."""
    reference = {(each.output, each.limit): each for each in measured if each.policy == REFERENCE}
    pairs = [(each, reference.get((each.output, each.limit))) for each in measured]
    return [
        (each, other)
        for each, other in pairs
        if other is not None and each.found < other.found - ALLOWED_FEWER
    ]
