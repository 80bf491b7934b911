"""A target of the fuzzer: bytes in, nothing out, an exception where a promise is broken.

The first bytes of an input are its knobs (limits, block sizes, forms), the rest is the payload. So one file
of bytes is all that it takes to see a failure again, whatever had found it.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from tests.fuzz import targets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

KNOBS = 8

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
        """One of the options, as a knob says."""
        return options[self.knobs[knob] % len(options)]

    def blocks(self, knob: int, data: bytes) -> list[bytes]:
        """The data, divided as a knob and the one behind it say: not at all, or in blocks of two sizes."""
        one, other = self.knobs[knob], self.knobs[knob + 1] + 1
        if not one:
            return [data]
        blocks, at = [], 0
        while at < len(data):
            size = (one, other)[len(blocks) % 2]
            blocks.append(data[at : at + size])
            at += size
        return blocks


@dataclass(frozen=True)
class Target:
    """What is attacked: `check` raises if a promise is broken; payloads are made from `seeds`."""

    name: str
    check: Callable[[Input], None]
    seeds: tuple[bytes, ...]
    # How many inputs an everyday run tries: a fifth of a second of work. Slow targets try fewer.
    examples: int
    # The package that the target compares with, if any. Such a target belongs to the nightly tier.
    package: str = ""

    def __call__(self, data: bytes) -> None:
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
    """Every target there is: a module added under targets/ is a target added."""
    for module in pkgutil.iter_modules(targets.__path__):
        importlib.import_module(f"{targets.__name__}.{module.name}")
    return ALL
