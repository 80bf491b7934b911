"""Frozen records that behave like `@dataclass(frozen=True)`, and tables of the members of a family.

Importing `dataclasses`, which imports `inspect`, would take longer than starting Python.
"""

from __future__ import annotations

# Type checkers treat this name as true. At run time `typing` is not imported.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, ClassVar, Generic, NoReturn, Self, TypeVar, dataclass_transform

    Member = TypeVar("Member")
else:
    # At run time `Generic[Member]` is `object`, and `Table[Shape]` is `Table`.
    Member = None
    Generic = {Member: object}

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


class Table(Generic[Member]):
    """The members of one family, by name and in order, and where each is defined.

    A member is imported when it is first used, so that a call pays only for the members that it needs. To add
    one, write its module and add one line to the family's table.
    """

    if not TYPE_CHECKING:

        def __class_getitem__(cls, _):
            return cls

    def __init__(self, **places: str) -> None:
        # Where each member is defined, as `module:attribute`.
        self._places = places
        self._members: dict[str, Member] = {}

    def __getitem__(self, name: str) -> Member:
        """Return the member of this name; `KeyError` if there is none."""
        if name not in self._members:
            module, _, attribute = self._places[name].partition(":")
            # `importlib` is slower to import than this is to write.
            self._members[name] = getattr(__import__(module, fromlist=[attribute]), attribute)
        return self._members[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def add(self, name: str, place: str) -> None:
        """Add a member that is defined elsewhere, as `module:attribute`."""
        self._places[name] = place
        self._members.pop(name, None)

    def remove(self, name: str) -> None:
        """Remove a member."""
        del self._places[name]
        self._members.pop(name, None)
