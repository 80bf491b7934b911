"""Compiled patterns for the start-up path, without importing `re` where that is possible.

Importing `re` takes half as long as starting Python. Its engine is part of the interpreter and can run code
that was compiled earlier. The file `patterns.ready` has that code for the patterns listed in
`steps/patterns.py`; `findings.ready` has those that few calls need, `pre_splits.ready` those of tokenizers
that a user has added. If the engine has another version, `re` compiles them.
"""

from __future__ import annotations

import os
import sys
from marshal import loads

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    import re

    # By flags and source: the number of groups, and the code.
    Ready = dict[bytes, tuple[int, bytes]]

READY_FILE = os.path.join(os.path.dirname(__file__), "patterns.ready")
MORE_READY_FILE = os.path.join(os.path.dirname(__file__), "findings.ready")
PRE_SPLITS_READY_FILE = os.path.join(os.path.dirname(__file__), "pre_splits.ready")

# The engines of Python 3.11, 3.12 and 3.13. All three compile our patterns to the same code.
ENGINES = (20220615, 20221023, 20230612)

# The value of `re.DOTALL`: a dot matches a newline too.
DOTALL = 16


def compiled(source: bytes, flags: int = 0, *, ready_file: str = "") -> re.Pattern[bytes]:
    """Return the same as `re.compile(source, flags)`. `ready_file`: the one file that may have the code."""
    import _sre

    # The file stores words of four bytes, lowest byte first; other machines cannot use them.
    if _sre.MAGIC in ENGINES and _sre.CODESIZE == 4 and sys.byteorder == "little":
        key = key_of(source, flags)
        found = read_ready(ready_file).get(key) if ready_file else ready().get(key) or more_ready().get(key)
        if found:
            try:
                groups, code = found
                words = memoryview(code).cast("I").tolist()
                # None of the groups in these patterns has a name.
                names = (None,) * (groups + 1)
                pattern: re.Pattern[bytes] = _sre.compile(source, flags, words, groups, {}, names)
                return pattern
            except (RuntimeError, TypeError, ValueError):
                # The file is damaged, and the engine has noticed it.
                pass
    import re

    return re.compile(source, flags)


def key_of(source: bytes, flags: int) -> bytes:
    return b"%d %s" % (flags, source)


_ready: Ready = {}
_more_ready: Ready = {}


def ready() -> Ready:
    """Return the compiled patterns: by flags and source, the number of groups and the code."""
    if not _ready:
        _ready.update(read_ready(READY_FILE))
    return _ready


def more_ready() -> Ready:
    """Return the patterns that few calls need, in the same way."""
    if not _more_ready:
        _more_ready.update(read_ready(MORE_READY_FILE))
    return _more_ready


def read_ready(path: str) -> Ready:
    """Return the patterns in a file; none if it cannot be read."""
    try:
        with open(path, "rb", buffering=0) as file:
            found = loads(file.read())  # noqa: S302  # a file of this package
    except (OSError, EOFError, TypeError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


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
