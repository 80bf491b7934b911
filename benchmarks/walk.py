"""Follow one call: how many modules of the package are loaded, and how often it goes from one to another.

`seq 1 100000 | python -m benchmarks.walk -n 100` prints both numbers. The call is made twice in one
process, and the second is counted, so that loading does not count. Making a record is not a visit.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tokcap.__main__ import call
from tokcap.environment import Environment

LEFT_OUT = "tokcap.startup.record"


def walk(args: list[str], data: bytes) -> list[str]:
    """Return the module of each function that the call enters, in order, without repetitions."""
    visited: list[str] = []

    def enter(frame, event, _argument) -> None:
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith("tokcap") and name not in (LEFT_OUT, *visited[-1:]):
            visited.append(name)

    for profile in (None, enter):
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
    return visited


if __name__ == "__main__":
    visited = walk(sys.argv[1:], sys.stdin.buffer.read())
    # The packages themselves are empty modules, or have a table.
    loaded = sorted(name for name in sys.modules if name.startswith("tokcap"))
    print(f"{len(loaded)} modules loaded, {len(set(visited))} visited, {len(visited) - 1} switches")
    for name in loaded:
        print(f"{visited.count(name):4} {name}")
