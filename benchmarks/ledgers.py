"""What a session costs on each ledger: `python -m benchmarks.ledgers [ROUNDS]`.

It starts a Redis and a PostgreSQL server on loopback, calls tokcap with each ledger in turn next to
`python -c pass`, and lets 16 processes take steps on each server. Next to what was reached stands what the
server's own benchmark reaches in the same run, with as many clients and one small change for each call, and
what two idle cores would do with the CPU time that clients and server took: other work disturbs both less.
"""

from __future__ import annotations

import compileall
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
from tests.support.engines import (
    PASSWORD,
    SERVERS,
    PostgresServer,
    RedisServer,
    new_space,
    server_of,
)
from tokcap.budget import open_ledger
from tokcap.budget.arithmetic import Settings
from tokcap.environment import Environment

PROCESSES = 16
SECONDS = 4.0
CORES = 2
FLOOR = "python -c pass"
CALL = ("--session", "s", "-n", "100", "--", "true")
# Calls: at most so many times the cost of the other one. Steps per second: at least so many.
CALL_TARGETS = {"redis": ("sqlite", 1.3), "postgresql": (FLOOR, 6.0)}
STEP_TARGETS = {"redis": 8000, "postgresql": 2000}
TICKS = os.sysconf("SC_CLK_TCK")


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


def take_steps(url: str, name: str, begin, answers, leave) -> None:  # type: ignore[no-untyped-def]  # of multiprocessing
    ledger = open_ledger(Environment(os.environ), url=url)
    ledger.settle(name, ledger.reserve(name, 10), 3)
    answers.put(None)
    begin.wait()
    spent, end, steps = time.process_time(), time.monotonic() + SECONDS, 0
    while time.monotonic() < end:
        ledger.settle(name, ledger.reserve(name, 10), 3)
        steps += 2
    answers.put((steps, time.process_time() - spent))
    leave.wait()


def measure_steps(url: str, server: int, sessions: int) -> tuple[float, float]:
    """Return the steps per second of all processes, and those that idle cores would reach."""
    ledger = open_ledger(Environment(os.environ), url=url)
    names = [f"r{number % sessions}" for number in range(PROCESSES)]
    for name in set(names):
        ledger.start(name, Settings())
    context = multiprocessing.get_context("spawn")
    begin, leave, answers = context.Event(), context.Event(), context.Queue()
    workers = [context.Process(target=take_steps, args=(url, name, begin, answers, leave)) for name in names]
    for worker in workers:
        worker.start()
    for _ in workers:
        answers.get()
    before = server_seconds(server)
    begin.set()
    taken = [answers.get() for _ in workers]
    spent = server_seconds(server) - before + sum(seconds for _, seconds in taken)
    leave.set()
    for worker in workers:
        worker.join()
    steps = sum(number for number, _ in taken)
    return steps / SECONDS, CORES * steps / spent


def redis_reference(server: RedisServer) -> float:
    """Return the changes per second that `redis-benchmark` reaches with as many clients."""
    words = ["redis-benchmark", "-p", str(server.port), "-a", PASSWORD, "-c", str(PROCESSES), "-n", "40000"]
    done = subprocess.run([*words, "--csv", "incr", "n"], capture_output=True, text=True, check=True)
    return float(done.stdout.splitlines()[-1].split(",")[1].strip('"'))


def postgres_reference(server: PostgresServer) -> float:
    """Return the transactions per second that `pgbench` reaches: each client changes a row of its own."""
    server.ask("CREATE TABLE IF NOT EXISTS reference (id integer PRIMARY KEY, n bigint)")
    rows = f"SELECT n, 0 FROM generate_series(0, {PROCESSES}) n"  # noqa: S608  # a constant
    server.ask(f"INSERT INTO reference {rows} ON CONFLICT DO NOTHING")
    script = server.directory / "reference.sql"
    script.write_text("UPDATE reference SET n = n + 1 WHERE id = :client_id;\n")
    words = ["pgbench", "-h", "127.0.0.1", "-p", str(server.port), "-U", "owner", "-n", "-f", str(script)]
    done = subprocess.run(
        [*words, "-c", str(PROCESSES), "-j", "2", "-T", str(int(SECONDS)), "postgres"],
        capture_output=True,
        text=True,
        env={**os.environ, "PGPASSWORD": PASSWORD},
        check=True,
    )
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("tps")]
    return float(line.split()[2])


REFERENCES = {
    "redis": ("redis-benchmark", redis_reference),
    "postgresql": ("pgbench", postgres_reference),
}
# Ways to run each server, by what is added to the URL.
SETTINGS = {
    "redis": {"": ""},
    "postgresql": {"": "", "synchronous_commit=off": "&options=-c%20synchronous_commit%3Doff"},
}


def server_seconds(pid: int) -> float:
    """Return the CPU time of a server and of its processes, ended or not."""
    own = [int(field) for field in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]]
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return sum(own) / TICKS + sum(map(server_seconds, map(int, children)))


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    # An installed package has bytecode. Without it, a call compiles the modules of its ledger.
    compileall.compile_dir(Path(tokcap.__file__).parent, quiet=1)
    servers = {scheme: server_of(scheme) for scheme in SERVERS}
    urls = {"sqlite": "sqlite:", **{name: server.url(new_space()) for name, server in servers.items()}}
    calls = measure_calls(urls, rounds)
    for name, milliseconds in calls.items():
        other, target = CALL_TARGETS.get(name, ("", 0.0))
        against = f"{milliseconds / calls[other]:5.2f} × {other}, target {target:g}" if other else ""
        print(f"call  {name:15} {milliseconds:6.1f} ms CPU  {against}")
    print(f"load {os.getloadavg()[0]:.1f}")
    for name, server in servers.items():
        program, reference = REFERENCES[name]
        for setting, query in SETTINGS[name].items():
            for sessions in (1, PROCESSES):
                rate = reference(server)
                reached, possible = measure_steps(urls[name] + query, server.process.pid, sessions)
                said = f"{reached:7.0f} steps/s, {possible:7.0f} on {CORES} idle cores"
                against = f"{reached / rate:5.2f} × {program} ({rate:.0f}/s)"
                print(
                    f"steps {name:11} {sessions:2} sessions: {said}, {against}, target {STEP_TARGETS[name]}",
                    setting,
                )


if __name__ == "__main__":
    main()
