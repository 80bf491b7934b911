"""A process that uses a ledger on a server: `URL STEPS [hold|log|deliver]`. It prints what it has used.

With `hold` it reserves tokens and settles them after the next line of its input. With `log` it prints every
settlement that was acknowledged, or kept in the outbox because the server was away. With `deliver` it only
delivers what waits there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

from tests.support.program import IMPORT_PATH, ROOT
from tokcap.budget import open_ledger
from tokcap.environment import Environment
from tokcap.errors import BudgetExhausted, LedgerUnreachable


def worker_on(
    url: str, steps: int, mode: str = "", *, before: tuple = (), **variables: object
) -> subprocess.Popen:
    """Start such a process; `before` are words before its command line."""
    return subprocess.Popen(
        [*before, sys.executable, "-m", "tests.support.server_worker", url, str(steps), mode],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": IMPORT_PATH,
            **{name: str(value) for name, value in variables.items()},
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def until_reached(step):
    """Take a step, as often as the server is away."""
    while True:
        try:
            return step()
        except LedgerUnreachable:
            time.sleep(0.05)


def main() -> None:
    url, steps, mode = *sys.argv[1:3], "".join(sys.argv[3:])
    ledger = open_ledger(Environment(os.environ), url=url)
    if mode == "hold":
        grant = ledger.session("s").reserve(600)
        ledger.session("s").announce(grant, 100)
        print("holds", flush=True)
        sys.stdin.readline()
        print(ledger.session("s").settle(grant, 250).used, flush=True)
        return
    if mode == "deliver":
        until_reached(ledger.list)
        return
    print("ready", flush=True)
    sys.stdin.readline()
    spent = refused = 0
    for number in range(int(steps)):
        try:
            grant = until_reached(lambda: ledger.session("s").reserve(10))
        except BudgetExhausted:
            refused += 1
            continue
        account = grant.account
        assert account.total is None or account.used + account.reserved <= account.total, account
        actual = number % 11 if account.total is None else grant.tokens or 0
        try:
            ledger.session("s").settle(grant, actual)
        except LedgerUnreachable:
            assert ledger.session("s").defer(grant, actual)
        spent += actual
        if mode == "log":
            print(actual, flush=True)
    print(json.dumps([spent, refused]), flush=True)


if __name__ == "__main__":
    main()
