"""The world of one call in somebody else's program: what would be written is taken, nothing is changed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tokcap.core.spool import open_nameless_file
from tokcap.environment import STDERR, STDOUT, Environment
from tokcap.errors import StreamError, UsageError
from tokcap.system.descriptors import write_all

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self


class Surroundings:
    """An `Environment` for as long as a call takes, and what was written in it."""

    def __init__(
        self,
        *,
        variables: Mapping[str, str] | None = None,
        directory: str | None = None,
        stdin: int | None = None,
        given: bytes | None = None,
    ) -> None:
        """`stdin` is a descriptor for the command; else it reads what is `given`, or nothing."""
        self._variables = variables
        self._directory = directory
        self._stdin = stdin
        self._given = given
        self._opened: list[int] = []
        self.written = {STDOUT: bytearray(), STDERR: bytearray()}

    def __enter__(self) -> Self:
        if self._directory is not None and not os.path.isdir(self._directory):
            raise UsageError(f"cwd: {self._directory!r} is no directory")
        try:
            # A pipe must not become a standard stream where the program has closed its own.
            while not self._opened or self._opened[-1] <= STDERR:
                self._opened.append(os.open(os.devnull, os.O_RDWR))
            if self._given:
                self._opened.append(file_of(self._given))
        except OSError as error:
            self.__exit__()
            raise StreamError(f"cannot hand over the input: {error.strerror}") from None
        self.env = Environment(
            os.environ,
            stdin=self._opened[-1] if self._stdin is None else self._stdin,
            take=lambda descriptor, data: self.written[descriptor].extend(data),
            directory=self._directory,
            command_variables=self._variables,
        )
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._opened:
            os.close(descriptor)
        self._opened.clear()


def file_of(data: bytes) -> int:
    """A nameless file to be read from its beginning."""
    descriptor = open_nameless_file()
    try:
        write_all(descriptor, data)
        os.lseek(descriptor, 0, os.SEEK_SET)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
