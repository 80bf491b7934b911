"""A ledger that several real processes use, and are killed while using, agrees with a plain Python model."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from tests.support.program import ROOT
from tests.support.session_model import Exhausted, Held, Session
from tests.support.tiers import examples
from tokcap.budget.sqlite import SqliteLedger

NAMES = st.sampled_from(["one", "two"])
WORKERS = st.integers(0, 2)
TOKENS = st.integers(0, 150)
TURNS = st.sampled_from([None, None, "first", "second"])


class LedgerOfProcesses(RuleBasedStateMachine):
    """Grants and numbers are those of the model, for every process that asks."""

    grants = Bundle("grants")

    def __init__(self):
        super().__init__()
        self.place = tempfile.mkdtemp()
        self.processes: dict[int, subprocess.Popen] = {}
        self.sessions: dict[str, Session] = {}
        self.numbers: dict[int, tuple[str, Held]] = {}

    @initialize(total=st.sampled_from([None, 1000]), window=st.sampled_from([None, 400]))
    def start_one(self, total, window):
        self.start(0, "one", total, window)

    def ask(self, worker, *words):
        process = self.processes.get(worker)
        if process is None:
            process = self.processes[worker] = subprocess.Popen(
                [sys.executable, "-m", "tests.support.ledger_worker", self.place],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        process.stdin.write(json.dumps(words) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    @rule(
        worker=WORKERS,
        name=NAMES,
        total=st.sampled_from([None, 100, 1000]),
        window=st.sampled_from([None, 400]),
    )
    def start(self, worker, name, total, window):
        answer = self.ask(worker, "start", name, total, window)
        if name not in self.sessions:
            self.sessions[name] = Session(total, window)
            assert answer is True
        elif self.sessions[name].settings == (total, window):
            assert answer is False
        else:
            assert answer == {"error": "UsageError"}

    @rule(target=grants, worker=WORKERS, name=NAMES, requested=st.none() | TOKENS, turn=TURNS)
    def reserve(self, worker, name, requested, turn):
        number = len(self.numbers)
        answer = self.ask(worker, "reserve", name, requested, turn, number)
        if name not in self.sessions:
            assert answer == {"error": "SessionNotStarted"}
            return multiple()
        try:
            held = self.sessions[name].reserve(requested, turn, worker)
        except Exhausted:
            assert answer == {"error": "BudgetExhausted"}
            return multiple()
        assert answer == held.tokens
        self.numbers[number] = name, held
        return number

    def is_held(self, number):
        return self.numbers[number][1] in self.numbers[number][1].session.held

    @rule(number=consumes(grants), actual=TOKENS)
    def settle(self, number, actual):
        """Charge the session that made the grant, even if it has ended or was reset."""
        if self.is_held(number):
            name, held = self.numbers[number]
            assert self.ask(held.worker, "settle", name, number, actual) is None
            held.session.settle(held, actual)

    @rule(number=consumes(grants), actual=TOKENS, again=st.booleans())
    def settle_late(self, number, actual, again):
        self.end_or_reset(1, self.numbers[number][0], again)
        self.settle(number, actual)

    @rule(number=consumes(grants))
    def release(self, number):
        if self.is_held(number):
            name, held = self.numbers[number]
            answer = self.ask(held.worker, "release", name, number)
            assert answer == (None if name in self.sessions else {"error": "SessionNotStarted"})
            held.session.give_up(held)

    @rule(number=grants, tokens=TOKENS)
    def announce(self, number, tokens):
        if self.is_held(number):
            name, held = self.numbers[number]
            assert self.ask(held.worker, "announce", name, number, tokens) is None
            held.announced = max(held.announced, tokens)

    @rule(worker=WORKERS, name=NAMES, given=TOKENS, made=TOKENS, key=st.sampled_from([None, "a", "b"]))
    def record(self, worker, name, given, made, key):
        answer = self.ask(worker, "record", name, given, made, key)
        if name in self.sessions:
            assert answer is self.sessions[name].record(given, made, key)
        else:
            assert answer == {"error": "SessionNotStarted"}

    @rule(worker=WORKERS, name=NAMES, used=TOKENS)
    def compacted(self, worker, name, used):
        answer = self.ask(worker, "compacted", name, used)
        if name in self.sessions:
            assert answer is None
            self.sessions[name].window_used = used
        else:
            assert answer == {"error": "SessionNotStarted"}

    @rule(worker=WORKERS, name=NAMES, again=st.booleans())
    def end_or_reset(self, worker, name, again):
        answer = self.ask(worker, "reset" if again else "end", name)
        if name not in self.sessions:
            assert answer == {"error": "SessionNotStarted"}
            return
        assert answer is None
        ended = self.sessions.pop(name)
        if again:
            self.sessions[name] = Session(*ended.settings)

    @rule(number=grants)
    def kill_the_holder(self, number):
        """What a killed process announced is used; the rest of its reservations is free at once."""
        worker = self.numbers[number][1].worker
        if worker in self.processes:
            self.end_process(worker)
        for _, held in self.numbers.values():
            if held.worker == worker and held in held.session.held:
                held.session.give_up(held)

    def end_process(self, worker):
        process = self.processes.pop(worker)
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()

    @invariant()
    def everybody_sees_the_numbers_of_the_model(self):
        book = SqliteLedger(self.place)
        assert {session.name for session in book.list()} == set(self.sessions)
        for name, expected in self.sessions.items():
            found = book.read(name)
            assert (found.used, found.reserved, found.remaining, found.window_used) == (
                expected.used,
                expected.reserved,
                expected.remaining,
                expected.window_used,
            )

    def teardown(self):
        for worker in [*self.processes]:
            self.end_process(worker)
        database = sqlite3.connect(os.path.join(self.place, "ledger.db"))
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        database.close()
        shutil.rmtree(self.place)


LedgerOfProcesses.TestCase.settings = examples(4, stateful_step_count=30)
TestLedgerOfProcesses = LedgerOfProcesses.TestCase
