"""New directories for one input, and calls of tokcap in this process."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support import hidden_failures
from tests.support.program import Ran, run_inside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokcap.errors import TokcapError


class World:
    """A home and a data directory for one input only."""

    def __init__(self, directory: str) -> None:
        self.path = Path(directory)
        self.data = self.path / "data"
        self.variables = {
            "HOME": directory,
            # Without it, outputs that could not be stored would be looked for in that of the system.
            "TMPDIR": directory,
            "PATH": os.environ["PATH"],
            "TOKCAP_DATA_DIR": str(self.data),
            "TOKCAP_CONFIG": "",
        }

    def call(
        self, args: Sequence[str], stdin: bytes = b"", variables: Mapping[str, str] | None = None
    ) -> Ran:
        """Return what a call writes, and its status. Raise if tokcap has rescued or caught a defect."""
        ran = run_inside(args, stdin, {**self.variables, **(variables or {})})
        assert not hidden_failures.failures_in(ran.out, ran.err)
        return ran


@contextlib.contextmanager
def world() -> Iterator[World]:
    """Make new directories. Relative paths lead into them too."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        try:
            yield World(directory)
        finally:
            os.chdir(before)


def check_told(error: TokcapError) -> None:
    """Check that a refusal is one line, and not empty."""
    assert str(error)
    assert "\n" not in str(error)
