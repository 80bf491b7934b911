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


@dataclass_transform(frozen_default=True)
class Record:
    """Base of all records: annotated names become fields, class values their defaults."""

    _fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls._fields = cls._fields + tuple(cls.__annotations__)

    if not TYPE_CHECKING:

        def __init__(self, *args, **named):
            fields = self._fields
            if len(args) > len(fields):
                raise TypeError(f"{type(self).__name__} takes {len(fields)} values, not {len(args)}")
            values = dict(zip(fields, args, strict=False))
            for name, value in named.items():
                if name in values or name not in fields:
                    raise TypeError(f"{type(self).__name__}: unexpected value for {name!r}")
                values[name] = value
            for name in fields:
                if name not in values:
                    try:
                        values[name] = getattr(type(self), name)
                    except AttributeError:
                        raise TypeError(f"{type(self).__name__} needs {name!r}") from None
            # In the order of the fields, so that equal records also hash and print alike.
            self.__dict__.update({name: values[name] for name in fields})

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
