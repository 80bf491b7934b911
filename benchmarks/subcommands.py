"""What subcommands cost beside the interpreter alone: those that agents call in loops, and help.

They are measured with all extras installed, because an installed library can slow down a call that does not
need it.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from benchmarks.measure import Work
from benchmarks.work import Line
from tokcap.core.request import SUBCOMMANDS

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.environments import Environments

SESSION = "benchmark"

# Arguments, and at most how many times as long as `python -c pass` the call may take.
CALLS: dict[tuple[str, ...], float] = {
    ("budget", "check", SESSION): 2.5,
    ("budget", "record", SESSION, "--input", "1"): 2.5,
    ("budget", "status", SESSION): 2.5,
    ("budget", "turn", "--session", SESSION): 2.5,
    ("budget", "compacted", SESSION, "--used", "1"): 2.5,
    ("spill", "path", "@last"): 2.5,
    ("hook", "run", "claude-code"): 2.1,
    ("spill", "list"): 7,
    ("stats",): 7,
    **{(name, "--help"): 7 for name in SUBCOMMANDS},
}


def subcommand_works(programs: Environments, place: Path) -> tuple[list[Work], list[Line]]:
    """Return the calls and their targets. Each call finds a session and a stored output."""
    data = place / "subcommands"
    own = (("TOKCAP_DATA_DIR", str(data)),)
    variables = {**programs.variables(place), **dict(own)}
    for words in (("budget", "start", SESSION), ("--spill", "always", "--", "echo", "stored")):
        subprocess.run([programs.tokcap_extras, *words], capture_output=True, env=variables, check=True)
    works = [
        Work(f"tokcap {' '.join(words)}", (programs.tokcap_extras, *words), variables=own) for words in CALLS
    ]
    targets = zip(works, CALLS.values(), strict=True)
    return works, [Line(work.name, at_most=at_most) for work, at_most in targets]
