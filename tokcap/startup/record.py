"""Frozen records that behave like `@dataclass(frozen=True)`.

Importing `dataclasses`, which imports `inspect`, would take longer than starting Python.
"""

from __future__ import annotations

# Type checkers treat this name as true. At run time `typing` is not imported.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, NoReturn, Self, dataclass_transform
else:

    def dataclass_transform(**_):
        return lambda cls: cls


MISSING: Any = object()


@dataclass_transform(frozen_default=True)
class Record:
    """Base of all records: annotated names are fields, and class values are their defaults."""

    _fields: ClassVar[tuple[str, ...]] = ()
    # All fields in order, with their default or `MISSING`.
    _defaults: ClassVar[dict[str, Any]] = {}
    _required: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        # Written for speed: a call creates many classes.
        own = cls.__dict__
        defaults = {**cls._defaults, **dict.fromkeys(cls.__annotations__, MISSING)}
        defaults.update([(name, own[name]) for name in defaults if name in own])
        cls._fields = (*defaults,)
        cls._defaults = defaults
        cls._required = (*[name for name, value in defaults.items() if value is MISSING],)

    if not TYPE_CHECKING:

        def __init__(self, *args, **named):
            # Written for speed: calls create many records.
            values = self.__dict__
            fields = self._fields
            if len(args) == len(fields) and not named:
                values.update(zip(fields, args, strict=False))
                return
            values.update(self._defaults)
            if args:
                by_position = dict(zip(fields, args, strict=False))
                if len(args) > len(by_position):
                    raise TypeError(f"{type(self).__name__} takes {len(by_position)} values, not {len(args)}")
                if not named.keys().isdisjoint(by_position):
                    twice = min(named.keys() & by_position)
                    raise TypeError(f"{type(self).__name__}: {twice!r} is given twice")
                values.update(by_position)
            values.update(named)
            if len(values) > len(fields):
                unknown = min(named.keys() - set(fields))
                raise TypeError(f"{type(self).__name__}: unexpected value for {unknown!r}")
            for name in self._required:
                if values[name] is MISSING:
                    raise TypeError(f"{type(self).__name__} needs {name!r}")

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the default of every field; `MISSING` if a field has none."""
        return cls._defaults

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed."""
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
