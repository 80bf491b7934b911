"""What a session costs on each ledger: `python -m benchmarks.ledgers [ROUNDS]`.

It starts a Redis and a PostgreSQL server on loopback, calls tokcap with each ledger in turn next to
`python -c pass`, and lets 16 processes take steps on each server, each in a session of its own or all in one.
"""

from __future__ import annotations

import compileall
import itertools
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tokcap
from tests.support.engines import SERVERS, new_space, server_of
from tokcap.budget import open_ledger
from tokcap.budget.arithmetic import Settings
from tokcap.environment import Environment

PROCESSES = 16
SECONDS = 4.0
FLOOR = "python -c pass"
CALL = ("--session", "s", "-n", "100", "--", "true")
# Steps per second that two cores should reach: with a session for each process, and with one for all.
STEP_TARGETS = {"redis": {16: 4000, 1: 1500}, "postgresql": {16: 1000, 1: 300}}


def call_milliseconds(command: list[str], variables: dict[str, str]) -> float:
    """Return the CPU time of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=variables, cwd=os.path.sep, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def measure_calls(urls: dict[str, str], rounds: int) -> dict[str, float]:
    """Return the median CPU time of a session call on each ledger, and of a Python that does nothing."""
    with tempfile.TemporaryDirectory() as place:
        commands = {FLOOR: ([sys.executable, "-c", "pass"], dict(os.environ))}
        for name, url in urls.items():
            variables = {**os.environ, "TOKCAP_LEDGER": url, "TOKCAP_DATA_DIR": f"{place}/{name}"}
            open_ledger(Environment(variables)).start("s", Settings(10**9))
            commands[name] = ([sys.executable, "-m", "tokcap", *CALL], variables)
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, (command, variables) in commands.items():
                taken[name].append(call_milliseconds(command, variables))
    return {name: statistics.median(times) for name, times in taken.items()}


def take_steps(url: str, name: str, begin, answers) -> None:  # type: ignore[no-untyped-def]  # of multiprocessing
    ledger = open_ledger(Environment(os.environ), url=url)
    ledger.session(name).settle(ledger.session(name).reserve(10), 3)
    answers.put(None)
    begin.wait()
    times = [time.monotonic()]
    while times[-1] < times[0] + SECONDS:
        grant = ledger.session(name).reserve(10)
        times.append(time.monotonic())
        ledger.session(name).settle(grant, 3)
        times.append(time.monotonic())
    answers.put((len(times) - 1, max(after - before for before, after in itertools.pairwise(times))))


def measure_steps(url: str, sessions: int) -> tuple[float, float]:
    """Return the steps per second of all processes, and how many seconds the slowest step took."""
    ledger = open_ledger(Environment(os.environ), url=url)
    names = [f"r{number % sessions}" for number in range(PROCESSES)]
    for name in set(names):
        ledger.start(name, Settings())
    context = multiprocessing.get_context("spawn")
    begin, answers = context.Event(), context.Queue()
    workers = [context.Process(target=take_steps, args=(url, name, begin, answers)) for name in names]
    for worker in workers:
        worker.start()
    for _ in workers:
        answers.get()
    begin.set()
    taken = [answers.get() for _ in workers]
    for worker in workers:
        worker.join()
    steps = sum(number for number, _ in taken)
    used = sum(ledger.session(name).read().used for name in set(names))
    assert used == 3 * (steps // 2 + PROCESSES), "a step was lost, or counted twice"
    return steps / SECONDS, max(slowest for _, slowest in taken)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    # An installed package has bytecode. Without it, a call compiles the modules of its ledger.
    compileall.compile_dir(Path(tokcap.__file__).parent, quiet=1)
    servers = {scheme: server_of(scheme) for scheme in SERVERS}
    urls = {"sqlite": "sqlite:", **{name: server.url(new_space()) for name, server in servers.items()}}
    calls = measure_calls(urls, rounds)
    for name, milliseconds in calls.items():
        print(f"call  {name:15} {milliseconds:6.1f} ms CPU  {milliseconds / calls[FLOOR]:5.2f} × {FLOOR}")
    for name, server in servers.items():
        for sessions, target in STEP_TARGETS[name].items():
            rate, slowest = measure_steps(server.url(new_space()), sessions)
            said = f"{rate:7.0f} steps/s, target {target}, the slowest {slowest:.2f} s"
            print(f"steps {name:11} {sessions:2} sessions: {said}, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
