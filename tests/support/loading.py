"""The modules that a call of the program loads."""

import subprocess
import sys

from tests.support.program import PACKAGE


def modules_loaded_for(*args: str, stdin: bytes) -> set[str]:
    """Return the names of all modules that are loaded after a call in a new, isolated process."""
    # Isolated, but with the package that is tested here.
    code = (
        f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r});"
        "from tokcap.__main__ import call; from tokcap.environment import Environment;"
        "call(sys.argv[1:], Environment.of_this_process());"
        "sys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, *args], input=stdin, capture_output=True, check=True, timeout=60
    )
    return set(done.stderr.decode().split())
