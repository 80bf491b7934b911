"""Frozen records, the form in which steps hand their results on.

They behave as `@dataclass(frozen=True)` does. They exist because importing `dataclasses` (with
`inspect` and `typing` behind it) takes longer than Python itself takes to start, on every call.
"""

from __future__ import annotations

# A type checker takes the name for true; at run time `typing` is never imported.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, NoReturn, Self, dataclass_transform
else:

    def dataclass_transform(**_):
        return lambda cls: cls


MISSING: Any = object()


@dataclass_transform(frozen_default=True)
class Record:
    """Base of all records: annotated names become fields, class values their defaults."""

    _fields: ClassVar[tuple[str, ...]] = ()
    # Every field in its order, with its default or `MISSING`.
    _blank: ClassVar[dict[str, Any]] = {}
    _needed: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        cls._fields = cls._fields + tuple(cls.__annotations__)
        cls._blank = {name: getattr(cls, name, MISSING) for name in cls._fields}
        cls._needed = frozenset(name for name, value in cls._blank.items() if value is MISSING)

    if not TYPE_CHECKING:

        def __init__(self, *args, **named):
            # There are many records, and most of what they cost is this.
            values = self.__dict__
            values.update(self._blank)
            if args:
                by_place = dict(zip(self._fields, args, strict=False))
                if len(args) > len(by_place):
                    raise TypeError(f"{type(self).__name__} takes {len(by_place)} values, not {len(args)}")
                if not named.keys().isdisjoint(by_place):
                    raise TypeError(f"{type(self).__name__}: {min(named.keys() & by_place)!r} is given twice")
                values.update(by_place)
            values.update(named)
            if len(values) > len(self._fields):
                unknown = min(named.keys() - set(self._fields))
                raise TypeError(f"{type(self).__name__}: unexpected value for {unknown!r}")
            for name in self._needed:
                if values[name] is MISSING:
                    raise TypeError(f"{type(self).__name__} needs {name!r}")

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the default of every field; `MISSING` if a field has none."""
        return cls._blank

    def but(self, **changes: Any) -> Self:
        """The same record with some fields changed."""
        return type(self)(**{**self.__dict__, **changes})

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot delete {name!r}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({inside})"
