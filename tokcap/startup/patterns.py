"""Patterns that are compiled at their first use: importing `re` takes half as long as starting Python."""

from __future__ import annotations

from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    import re

# The value of `re.DOTALL`: a dot matches a newline too.
DOTALL = 16


def compiled(source: bytes, flags: int = 0) -> re.Pattern[bytes]:
    """Return `re.compile(source, flags)`."""
    import re

    return re.compile(source, flags)


if TYPE_CHECKING:

    def later(source: bytes, flags: int = 0) -> re.Pattern[bytes]: ...

else:

    class later:  # noqa: N801  # callers use it as a function
        """A pattern that is compiled at its first use. Most calls need few of a module's patterns."""

        def __init__(self, source: bytes, flags: int = 0) -> None:
            self.pattern, self.flags = source, flags

        def __getattr__(self, method: str) -> object:
            pattern = compiled(self.pattern, self.flags)
            for name in ("match", "fullmatch", "search", "finditer", "findall", "sub"):
                setattr(self, name, getattr(pattern, name))
            return getattr(self, method)
