"""Inputs that broke a promise once: kept as files, made as small as they can be, and replayed forever."""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING

from tests.fuzz.target import KNOBS, Target
from tests.support.program import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DIRECTORY = ROOT / "tests" / "cases" / "found"
# How often, and how long, smaller inputs are tried.
TRIALS = 3000
SECONDS = 30


def keep(target: Target, data: bytes) -> Path:
    """Write a case file, and say where it is."""
    path = DIRECTORY / target.name / f"{hashlib.sha256(data).hexdigest()[:12]}.bin"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def cases() -> Iterator[tuple[str, Path]]:
    """Every case with the name of its target."""
    for path in sorted(DIRECTORY.glob("*/*.bin")):
        yield path.parent.name, path


def fails(target: Target, data: bytes) -> bool:
    try:
        target(data)
    except Exception:
        return True
    return False


def smallest(data: bytes, still_fails: Callable[[bytes], bool]) -> bytes:
    """A smaller input that fails too: parts are taken away, larger ones first, then bytes made plain."""
    trials = 0
    deadline = time.monotonic() + SECONDS

    def is_time_left() -> bool:
        return trials < TRIALS and time.monotonic() < deadline

    size = max(len(data) // 2, 1)
    while size:
        at = 0
        while at < len(data) and is_time_left():
            without = data[:at] + data[at + size :]
            trials += 1
            # Knobs stand in their places.
            if at >= KNOBS and still_fails(without):
                data = without
            else:
                at += size
        size //= 2
    for at in range(len(data)):
        for plain in (b"\0" if at < KNOBS else b"a", b"0"):
            simpler = data[:at] + plain + data[at + 1 :]
            if simpler != data and is_time_left():
                trials += 1
                if still_fails(simpler):
                    data = simpler
                    break
    return data
