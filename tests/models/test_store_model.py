"""The store behaves like a dictionary while real processes use it, clean it, and are killed."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.support.program import ROOT
from tests.support.tiers import examples
from tests.support.world import World

HOUR, DAY = 3600, 24 * 3600
KEPT_DAYS = 14
# After this time, storing also cleans.
CLEAN_SECONDS = 600
# Tolerance for comparisons with file times, so that the duration of a test does not matter.
SLACK_SECONDS = 60

OUTPUTS = {
    "few lines": b"".join(b"line %d\n" % n for n in range(40)),
    "one line more": b"".join(b"line %d\n" % n for n in range(41)),
    "document": b"[" + b",".join(b'{"id":%d}' % n for n in range(60)) + b"]\n",
    "no text": bytes(range(256)) * 3,
    "much": b"".join(b"%d bottles\n" % n for n in range(150_000)),
}
NAMES = st.sampled_from([*OUTPUTS])


@dataclass
class Kept:
    """A stored output: its bytes, and how many seconds ago it was stored and read."""

    out: bytes
    stored: float = 0
    read: float = 0


def is_of_the_future(entry):
    """Tell whether its times are in the future; cleaning corrects them."""
    return min(entry.stored, entry.read) < -SLACK_SECONDS


def is_too_old(entry):
    return max(entry.stored, 0) > KEPT_DAYS * DAY and max(min(entry.stored, entry.read), 0) >= HOUR


class StoreOfProcesses(RuleBasedStateMachine):
    """Every stored output is there, byte for byte, until it is removed or too old."""

    def __init__(self):
        super().__init__()
        self.here = World(tempfile.mkdtemp())
        self.kept: dict[str, Kept] = {}
        self.last = ""
        self.handles: dict[str, str] = {}
        # Seconds since storing last cleaned; None if nothing was stored.
        self.cleaned: float | None = None
        for name, data in OUTPUTS.items():
            (self.here.path / name).write_bytes(data)

    @initialize(name=NAMES)
    def run_once(self, name):
        self.run(name, 0)

    def process(self, *args):
        return subprocess.Popen(
            [sys.executable, "-m", "tokcap", *args],
            env={**self.here.variables, "PYTHONPATH": str(ROOT), "TOKCAP_CONFIG": ""},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    @rule(name=NAMES, status=st.sampled_from([0, 3]))
    def run(self, name, status):
        """Equal outputs have one handle, and are stored once."""
        script = f'cat "$0"; exit {status}'
        process = self.process("-n", "20", "-o", "json", "--", "sh", "-c", script, str(self.here.path / name))
        out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (status, b"")
        handle = json.loads(out)["meta"]["handle"]
        assert self.handles.setdefault(name, handle) == handle
        self.kept[handle] = Kept(OUTPUTS[name])
        self.last = handle
        if self.cleaned is None or not 0 <= self.cleaned < CLEAN_SECONDS:
            if self.cleaned is not None:
                self.forget_what_is_too_old()
            self.cleaned = 0

    @rule(delay=st.floats(0, 0.25), name=NAMES)
    def kill_while_storing(self, delay, name):
        """The output is stored completely or not at all, and nothing else has changed."""
        process = self.process("-n", "20", "--", "cat", str(self.here.path / name))
        time.sleep(delay)
        process.kill()
        process.communicate()
        there = {path.name: path for path in self.places()}
        for handle in self.kept.keys() - there:
            # It was removed by cleaning before the process was killed.
            assert is_too_old(self.kept.pop(handle))
        for handle in there.keys() - self.kept:
            assert self.handles.setdefault(name, handle) == handle
            self.kept[handle] = Kept(OUTPUTS[name])
        self.look_at_the_clocks(there)

    def look_at_the_clocks(self, there):
        """Find out from the files how far the killed process got."""
        now, spill = time.time(), self.here.data / "spill"
        for handle, path in there.items():
            self.kept[handle].stored = now - (path / "out").stat().st_mtime
            self.kept[handle].read = now - path.stat().st_mtime
        latest, cleaned = spill / "last", spill / ".cleaned"
        self.last = latest.read_text().splitlines()[-1].split()[0] if latest.exists() else ""
        self.cleaned = now - int(cleaned.read_text().split()[0]) if cleaned.exists() else None

    def places(self):
        return [path for path in (self.here.data / "spill").glob("??/*") if not path.name.startswith(".")]

    def handle_of(self, name):
        """Return the handle of an output, or an unknown handle if it was never stored."""
        return self.handles.get(name, "lake000000000")

    @rule(name=NAMES, digits=st.sampled_from([3, 4, 13]))
    def show(self, name, digits):
        """Four digits or more are enough if they are unique."""
        beginning = self.handle_of(name)[:digits]
        ran = self.here.call(["show", beginning])
        found = [handle for handle in self.kept if handle.startswith(beginning)]
        if digits < 4 or len(found) != 1:
            assert (ran.status, ran.out) == (1, b"")
            return
        self.kept[found[0]].read = 0
        assert ran.status == 0
        # The limit of the run applies.
        assert ran.out != self.kept[found[0]].out

    @rule(name=NAMES)
    def read_everything(self, name):
        handle = self.handle_of(name)
        ran = self.here.call(["show", handle, "-n", "100000000"])
        if handle in self.kept:
            self.kept[handle].read = 0
            assert ran.out == self.kept[handle].out
        else:
            assert (ran.status, ran.out) == (1, b"")

    @rule()
    def find_the_last(self):
        ran = self.here.call(["spill", "path", "@last"])
        if self.last in self.kept:
            self.kept[self.last].read = 0
            assert Path(os.fsdecode(ran.out.rstrip(b"\n"))).read_bytes() == self.kept[self.last].out
        else:
            assert (ran.status, ran.out) == (1, b"")

    @rule(name=NAMES)
    def read_what_is_old(self, name):
        """An output that was just read is kept; others that are too old are removed."""
        self.clock_changes((KEPT_DAYS + 1) * DAY)
        self.read_everything(name)
        self.collect()

    @rule(name=NAMES)
    def remove(self, name):
        handle = self.handle_of(name)
        ran = self.here.call(["spill", "rm", handle])
        assert ran.status == (0 if handle in self.kept else 1)
        self.kept.pop(handle, None)

    @rule(seconds=st.sampled_from([2 * HOUR, 3 * DAY, 13 * DAY, 15 * DAY, -2 * HOUR, -20 * DAY]))
    def clock_changes(self, seconds):
        """Move every recorded time back, as if time had passed."""
        spill = self.here.data / "spill"
        for path in [*spill.rglob("*"), spill]:
            if path.exists():
                at = path.stat().st_mtime - seconds
                os.utime(path, (at, at))
        cleaned = spill / ".cleaned"
        if cleaned.exists():
            at, since = cleaned.read_text().split()
            cleaned.write_text(f"{int(at) - seconds:020d} {since}\n")
        for entry in self.kept.values():
            entry.stored += seconds
            entry.read += seconds
        if self.cleaned is not None:
            self.cleaned += seconds

    @rule()
    def collect(self):
        ran = self.here.call(["spill", "gc"])
        assert ran.status == 0
        self.forget_what_is_too_old()

    def forget_what_is_too_old(self):
        for handle, entry in [*self.kept.items()]:
            if is_too_old(entry):
                del self.kept[handle]
            elif is_of_the_future(entry):
                entry.stored = entry.read = 0

    @invariant()
    def the_store_has_what_the_model_has(self):
        assert {path.name for path in self.places()} == set(self.kept)
        for path in self.places():
            assert (path / "out").read_bytes() == self.kept[path.name].out

    def teardown(self):
        # Leftovers of killed processes are removed when they are old enough.
        self.clock_changes(2 * HOUR)
        self.here.call(["spill", "gc"])
        spill = self.here.data / "spill"
        names = {path.name for path in spill.iterdir()} if spill.exists() else set()
        assert all(len(name) == 2 or name in ("last", ".cleaned") for name in names)
        shutil.rmtree(self.here.path)


StoreOfProcesses.TestCase.settings = examples(4, stateful_step_count=16)
TestStoreOfProcesses = StoreOfProcesses.TestCase
