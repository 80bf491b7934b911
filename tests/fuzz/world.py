"""A world for one input: directories of its own, and tokcap called in this process."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.conftest import Ran, checked
from tokcap.__main__ import call
from tokcap.environment import Environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokcap.errors import TokcapError


class World:
    """A home and a data directory that nobody else has."""

    def __init__(self, directory: str) -> None:
        self.path = Path(directory)
        self.data = self.path / "data"
        self.variables = {
            "HOME": directory,
            "PATH": os.environ["PATH"],
            "TOKCAP_DATA_DIR": str(self.data),
            "TOKCAP_CONFIG": "",
        }

    def call(
        self, args: Sequence[str], stdin: bytes = b"", variables: Mapping[str, str] | None = None
    ) -> Ran:
        """What a call writes, and its status. A defect that tokcap itself has caught is raised here."""
        with contextlib.ExitStack() as stack:
            given, out, err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
            given.write(stdin)
            given.seek(0)
            world = {**self.variables, **(variables or {})}
            status = call(args, Environment(world, given.fileno(), out.fileno(), err.fileno()))
            out.seek(0)
            err.seek(0)
            ran = Ran(status, out.read(), err.read())
        assert b"internal error" not in ran.err, ran.err
        return checked(args, ran)


@contextlib.contextmanager
def world() -> Iterator[World]:
    """A fresh world, in which relative paths end up too."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        try:
            yield World(directory)
        finally:
            os.chdir(before)


def check_told(error: TokcapError) -> None:
    """A refusal is one line, and says something."""
    assert str(error)
    assert "\n" not in str(error)
