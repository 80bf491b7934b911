"""Compiled patterns for the start-up path, without the price of `import re` where that is possible.

Importing `re` takes half as long as starting Python does. Its engine is part of the interpreter and runs
code that has been compiled beforehand; `tokcap/data/patterns.ready` has that code for the patterns listed in
`data/compile.py`. The engine says by a number whether it understands the code; if not, `re` compiles anew.
"""

from __future__ import annotations

import os
import sys

from tokcap.record import TYPE_CHECKING

if TYPE_CHECKING:
    import re

READY_FILE = os.path.join(os.path.dirname(__file__), "data", "patterns.ready")

# The engines of Python 3.11, 3.12 and 3.13: all three compile our patterns to the same code.
ENGINES = (20220615, 20221023, 20230612)


def compiled(source: bytes) -> re.Pattern[bytes]:
    """What `re.compile(source)` gives."""
    import _sre

    # The words of the code are stored as this machine has to hold them: four bytes, little end first.
    if _sre.MAGIC in ENGINES and _sre.CODESIZE == 4 and sys.byteorder == "little":
        code = ready_code(source)
        if code:
            pattern: re.Pattern[bytes] = _sre.compile(source, 0, code, 0, {}, (None,))
            return pattern
    import re

    return re.compile(source)


def ready_code(source: bytes) -> list[int]:
    """The code that was compiled from exactly this source; empty if there is none."""
    try:
        with open(READY_FILE, "rb", buffering=0) as file:
            lines = file.read().split(b"\n")
    except OSError:
        return []
    key = source.hex().encode()
    if key not in lines:
        return []
    return memoryview(bytes.fromhex(lines[lines.index(key) + 1].decode())).cast("I").tolist()
