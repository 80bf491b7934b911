"""A target of the fuzzer: bytes in, nothing out, an exception where a promise is broken.

The first bytes of an input are its knobs (limits, block sizes, forms), the rest is the payload: a seed that
hypothesis changes in some places. So one file of bytes repeats a failure.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.fuzz import targets
from tests.support.program import ROOT
from tokcap.core import payload
from tokcap.shapes import csv_text, json, json_parts, json_reader, record_window
from tokcap.steps import grep
from tokcap.tokens import chunks, index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

KNOBS = 8
FOUND = ROOT / "tests" / "cases" / "found"
LONGEST_BYTES = 20_000

Chosen = TypeVar("Chosen")


@dataclass(frozen=True)
class Input:
    """One input, taken apart."""

    knobs: bytes
    payload: bytes

    @classmethod
    def of(cls, data: bytes) -> Input:
        return cls(data[:KNOBS].ljust(KNOBS, b"\0"), data[KNOBS:])

    def pick(self, knob: int, options: Sequence[Chosen]) -> Chosen:
        """Return the option that a knob says."""
        return options[self.knobs[knob] % len(options)]

    def blocks(self, knob: int, data: bytes) -> list[bytes]:
        """Divide the data as a knob and the one behind it say: not at all, or in blocks of two sizes."""
        one, other = self.knobs[knob], self.knobs[knob + 1] + 1
        if not one:
            return [data]
        blocks, at = [], 0
        while at < len(data):
            size = (one, other)[len(blocks) % 2]
            blocks.append(data[at : at + size])
            at += size
        return blocks


@dataclass
class Target:
    """What is attacked: `check` raises if a promise is broken; payloads are made from `seeds`."""

    name: str
    check: Callable[[Input], None]
    seeds: tuple[bytes, ...]
    # How many inputs an everyday run tries: a fifth of a second of work. Slow targets try fewer.
    examples: int
    # The package that the target compares with, if any. Such a target belongs to the nightly tier.
    package: str = ""
    # The input that was tried last.
    last: bytes = b""

    def __call__(self, data: bytes) -> None:
        self.last = data
        self.check(Input.of(data))


ALL: dict[str, Target] = {}


def target(
    seeds: Iterable[bytes], *, examples: int = 60, package: str = ""
) -> Callable[[Callable[[Input], None]], Target]:
    """Make a target of a function; its name is that of the function."""

    def made(check: Callable[[Input], None]) -> Target:
        name = check.__name__.replace("_", "-")
        ALL[name] = Target(name, check, tuple(seeds), examples, package)
        return ALL[name]

    return made


def load_all() -> dict[str, Target]:
    """Return every target: a module added below targets/ is found."""
    for module in pkgutil.iter_modules(targets.__path__):
        importlib.import_module(f"{targets.__name__}.{module.name}")
    return ALL


# Bytes and words that mean something to one of the grammars.
SIGNS = b"\0\t\n\r\x1b \"#$&'(),-./0:;<=>@A[\\]_`a{|}~\x7f\x80\x85\x9b\xc2\xff"
WORDS = b"\r\n \\u \\ud800 null true 1e999 -- -c \x1b[ \xef\xbf\xbd \xef\xbb\xbf \xe2\x80\xa8 ''' [[ ]]"
MATERIAL = st.one_of(
    st.sampled_from([bytes([sign]) for sign in SIGNS]),
    st.sampled_from(WORDS.split(b" ")),
    st.binary(min_size=1, max_size=6),
)
# Where, how many bytes go, what comes instead, and how often.
EDITS = st.lists(
    st.tuples(
        st.integers(0, 1 << 16),
        st.sampled_from([0, 0, 1, 6, 60, LONGEST_BYTES]),
        st.just(b"") | MATERIAL,
        st.sampled_from([1, 1, 1, 3, 200]),
    ),
    max_size=8,
)


def edited(data: bytes, edits: Iterable[tuple[int, int, bytes, int]]) -> bytes:
    for place, gone, material, times in edits:
        at = place % (len(data) + 1)
        data = data[:at] + material * times + data[at + gone :]
    return data[:LONGEST_BYTES]


def attack(target: Target, number: int, examples: int) -> None:
    """Try inputs that only the number decides. A failure is that of the smallest input, `target.last`."""
    # By number: hypothesis would spell out all seeds in its messages.
    seeds = st.integers(0, len(target.seeds) - 1).map(lambda place: target.seeds[place])
    from_seeds = st.builds(edited, seeds, EDITS)
    payloads = st.one_of(
        from_seeds, from_seeds, from_seeds, st.binary(max_size=80), st.text().map(str.encode)
    )
    inputs = st.builds(bytes.__add__, st.binary(min_size=KNOBS, max_size=KNOBS), payloads)

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=tuple(HealthCheck),
        print_blob=False,
        report_multiple_bugs=False,
    )
    @seed(number)
    @given(data=inputs)
    def attempt(data: bytes) -> None:
        target(data)

    attempt()


def keep(target: Target) -> Path:
    """Write the last input as a case, and return its path."""
    path = FOUND / target.name / f"{hashlib.sha256(target.last).hexdigest()[:12]}.bin"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(target.last)
    return path


@contextlib.contextmanager
def small_constants(given: Input, knob: int) -> Iterator[None]:
    """Make blocks, strides and spools so small that a line needs several. A knob says how small."""
    size = given.pick(knob, (0, 16, 0, 64, 0, 300))
    with pytest.MonkeyPatch.context() as patch:
        if size:
            patch.setattr(chunks, "CHUNK_BYTES", size)
            patch.setattr(chunks, "FIRST_CHUNK_BYTES", size // 2)
            patch.setattr(index, "READ_BYTES", size * 2)
            patch.setattr(json_reader, "STRIDE_BYTES", size * 3)
            patch.setattr(csv_text, "STRIDE_BYTES", size * 3)
            patch.setattr(record_window, "FIRST_BYTES", size)
            patch.setattr(json, "LIGHT_BYTES", size * 2)
            patch.setattr(json_parts, "LIGHT_BYTES", size * 2)
            patch.setattr(grep, "READ_BYTES", size)
            # The only default of its place; bound when the class was made.
            patch.setattr(payload.Spool.__init__, "__defaults__", (size,))
        yield
