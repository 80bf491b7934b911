"""What drives a target: hypothesis over mutated seeds, chance alone, or atheris, guided by coverage."""

from __future__ import annotations

import importlib.util
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz import mutation
from tests.fuzz.target import KNOBS, Target

# How many inputs one round has. The clock is read between two rounds.
ROUND = 200
# An input that takes longer counts as a failure.
SLOWEST_SECONDS = 60


class Failure(Exception):
    """A target failed on an input."""

    def __init__(self, data: bytes, reason: str) -> None:
        super().__init__(reason)
        self.data = data


def try_round(target: Target, number: int, examples: int) -> None:
    """Try inputs that only the number decides. Raise `Failure` with the first that fails."""
    last = b""

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        # `found.smallest` makes every failing input small.
        phases=(Phase.generate,),
        suppress_health_check=tuple(HealthCheck),
        print_blob=False,
    )
    @seed(number)
    @given(data=mutation.inputs_of(target))
    def attempt(data: bytes) -> None:
        nonlocal last
        last = data
        target(data)

    try:
        attempt()
    except Exception as error:
        raise Failure(last, f"{type(error).__name__}: {error}") from error


def run_hypothesis(target: Target, seconds: float) -> int:
    """Try rounds with new numbers until the time is over. Return how many inputs there were."""
    deadline = time.monotonic() + seconds
    rounds = 0
    while time.monotonic() < deadline:
        try_round(target, random.SystemRandom().getrandbits(64), ROUND)
        rounds += 1
    return rounds * ROUND


def run_random(target: Target, seconds: float) -> int:
    """Try inputs that are drawn without hypothesis: many more in the same time, which suits quick targets."""
    chance = random.Random(random.SystemRandom().getrandbits(64))
    deadline = time.monotonic() + seconds
    inputs = 0
    while time.monotonic() < deadline:
        for _ in range(ROUND):
            data = mutation.drawn(chance, target)
            try:
                target(data)
            except Exception as error:
                raise Failure(data, f"{type(error).__name__}: {error}") from error
        inputs += ROUND
    return inputs


def has_atheris() -> bool:
    return importlib.util.find_spec("atheris") is not None


def run_atheris(target: Target, seconds: float) -> int:
    """Do the same with atheris, in a process of its own, because its loop never returns."""
    with tempfile.TemporaryDirectory() as directory:
        corpus = Path(directory, "corpus")
        corpus.mkdir()
        for number, payload in enumerate(target.seeds):
            (corpus / str(number)).write_bytes(bytes(KNOBS) + payload)
            (corpus / f"{number}-turned").write_bytes(bytes(range(1, KNOBS + 1)) + payload)
        done = subprocess.run(
            [
                *(sys.executable, "-m", "tests.fuzz.guided", target.name, str(corpus)),
                *(f"-max_total_time={round(seconds)}", f"-artifact_prefix={directory}/", "-max_len=8192"),
                *(f"-timeout={SLOWEST_SECONDS}", "-rss_limit_mb=4096", "-verbosity=1"),
            ],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        failed = [path for kind in ("crash", "timeout", "oom") for path in Path(directory).glob(f"{kind}-*")]
        if failed:
            raise Failure(failed[0].read_bytes(), done.stdout[-3000:] + done.stderr[-600:])
        assert done.returncode == 0, done.stderr[-2000:]
        runs = [line for line in done.stderr.splitlines() if line.startswith("Done ")]
        return int(runs[-1].split()[1]) if runs else 0


ENGINES = {"atheris": run_atheris, "hypothesis": run_hypothesis, "random": run_random}
