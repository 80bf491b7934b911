"""Compiled patterns for the start-up path, without the price of `import re` where that is possible.

Importing `re` takes half as long as starting Python does. Its engine is part of the interpreter and runs
code that has been compiled beforehand; `tokcap/lean/patterns.ready` has that code for the patterns listed in
`run/patterns.py`. The engine says by a number whether it understands the code; if not, `re` compiles anew.
"""

from __future__ import annotations

import os
import sys

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    import re

READY_FILE = os.path.join(os.path.dirname(__file__), "patterns.ready")

# The engines of Python 3.11, 3.12 and 3.13: all three compile our patterns to the same code.
ENGINES = (20220615, 20221023, 20230612)


# As `re` has it: a dot matches a newline too.
DOTALL = 16


def compiled(source: bytes, flags: int = 0) -> re.Pattern[bytes]:
    """What `re.compile(source, flags)` gives."""
    import _sre

    # The words of the code are stored as this machine has to hold them: four bytes, little end first.
    if _sre.MAGIC in ENGINES and _sre.CODESIZE == 4 and sys.byteorder == "little":
        found = ready().get(key_of(source, flags))
        if found:
            groups, _, code = found.partition(b" ")
            words = memoryview(bytes.fromhex(code.decode())).cast("I").tolist()
            # None of our groups has a name.
            names = (None,) * (int(groups) + 1)
            pattern: re.Pattern[bytes] = _sre.compile(source, flags, words, int(groups), {}, names)
            return pattern
    import re

    return re.compile(source, flags)


def key_of(source: bytes, flags: int) -> bytes:
    return b"%d %s" % (flags, source.hex().encode())


_ready: dict[bytes, bytes] = {}


def ready() -> dict[bytes, bytes]:
    """What was compiled beforehand: by source and flags, the number of groups and the code."""
    if not _ready:
        try:
            with open(READY_FILE, "rb", buffering=0) as file:
                lines = file.read().split(b"\n")
        except OSError:
            lines = []
        _ready.update(zip(lines[::2], lines[1::2], strict=False))
    return _ready


if TYPE_CHECKING:

    def later(source: bytes, flags: int = 0) -> re.Pattern[bytes]: ...

else:

    class later:  # noqa: N801  # a function to whoever calls it
        """A pattern that is made when it is first used: many a module has some that a call never needs."""

        def __init__(self, source: bytes, flags: int = 0) -> None:
            self.pattern, self.flags = source, flags

        def __getattr__(self, method: str) -> object:
            pattern = compiled(self.pattern, self.flags)
            for name in ("match", "fullmatch", "search", "finditer", "findall"):
                setattr(self, name, getattr(pattern, name))
            return getattr(self, method)
