"""Walk one call of the program, and count the modules of the package that it visits.

`seq 1 100000 | python -m tests.support.walk -n 100` prints both numbers as JSON. The call is made twice in
one process, and the second is counted, so that loading does not count. Making a record is not a visit.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from tokcap.__main__ import call
from tokcap.environment import Environment

LEFT_OUT = "tokcap.lean.record"


class Walk:
    """The modules whose functions are called, and how often the next call is in another module."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.switches = 0
        self._last = ""

    def visit(self, frame, event, _argument) -> None:
        name = frame.f_globals.get("__name__", "")
        if event != "call" or not name.startswith("tokcap") or name == LEFT_OUT:
            return
        self.modules.add(name)
        self.switches += bool(self._last) and name != self._last
        self._last = name


def walk(args: list[str], data: bytes) -> Walk:
    found = Walk()
    for profile in (None, found.visit):
        # Each call has a store of its own, so the second does not find what the first has stored.
        with tempfile.TemporaryDirectory() as place:
            given = Path(place, "given")
            given.write_bytes(data)
            variables = {**os.environ, "TOKCAP_DATA_DIR": str(Path(place, "data"))}
            with open(given, "rb") as stdin, open(os.devnull, "wb") as out:
                env = Environment(variables, stdin.fileno(), out.fileno(), 2)
                sys.setprofile(profile)
                try:
                    call(args, env)
                finally:
                    sys.setprofile(None)
    return found


if __name__ == "__main__":
    seen = walk(sys.argv[1:], sys.stdin.buffer.read())
    print(
        json.dumps({"modules": len(seen.modules), "switches": seen.switches, "names": sorted(seen.modules)})
    )
