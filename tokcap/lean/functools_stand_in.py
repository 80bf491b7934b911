"""A stand-in for `functools`, for C modules that take only `lru_cache` from it.

Importing `functools` also imports `collections` and takes a quarter as long as starting Python. The cache
itself is a part of the interpreter.
"""

from __future__ import annotations

import sys

# The same class that `functools.lru_cache` uses.
from _functools import _lru_cache_wrapper  # type: ignore[import-not-found]  # typeshed does not describe it
from _thread import _count as count_other_threads

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Function = TypeVar("Function", bound=Callable[..., object])

NAME = "functools"


def lru_cache(maxsize: int) -> Callable[[Function], Function]:
    """Do the same as `functools.lru_cache`; statistics of the cache are not available."""
    return lambda function: _lru_cache_wrapper(function, maxsize, False, tuple)


class FunctoolsStandIn:
    """While this is entered, an import of `functools` gets the stand-in, unless it was imported before."""

    def __init__(self) -> None:
        self._stand_in: object = None

    def __enter__(self) -> None:
        # Another thread could import it in this moment.
        if NAME not in sys.modules and not count_other_threads():
            stand_in = type(sys)(NAME)
            stand_in.lru_cache = lru_cache  # type: ignore[attr-defined]  # a new module has no attributes
            sys.modules[NAME] = self._stand_in = stand_in

    def __exit__(self, *_: object) -> None:
        if self._stand_in:
            del sys.modules[NAME]
