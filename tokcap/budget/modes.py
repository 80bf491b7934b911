"""The response modes that a budget chooses: how much of an output an answer shows."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import ClassVar


class _Modes(type):
    def __iter__(cls) -> Iterator[ResponseMode]:
        return iter(MODES)


class ResponseMode(str, metaclass=_Modes):
    """A mode, equal to its plain name. Iterate over the class from the longest answers to the shortest.

    Not an `enum`: that import takes a tenth of the time that Python takes to start.
    """

    __slots__ = ()
    RAW: ClassVar[ResponseMode]
    TABLE: ClassVar[ResponseMode]
    SUMMARY: ClassVar[ResponseMode]
    HANDLE_ONLY: ClassVar[ResponseMode]

    def __new__(cls, value: str) -> ResponseMode:
        for mode in MODES:
            if mode == value:
                return mode
        raise ValueError(f"mode must be one of {', '.join(MODES)}, not {value!r}")

    @classmethod
    def named(cls, name: str) -> ResponseMode:
        """Return a mode that may have been added from outside; those are not attributes of the class."""
        return cls(name) if name in MODES else str.__new__(cls, name)


MODES = tuple(str.__new__(ResponseMode, name) for name in ("raw", "table", "summary", "handle_only"))
ResponseMode.RAW, ResponseMode.TABLE, ResponseMode.SUMMARY, ResponseMode.HANDLE_ONLY = MODES
