"""A command that another thread can stop. Nothing of it is then stored or charged."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from tokcap.source.command import Command
from tokcap.steps.opening import open_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.core.payload import Source
    from tokcap.core.request import Request, Stream
    from tokcap.environment import Environment
    from tokcap.exits import Ending


class Interrupted(Exception):
    """The command was stopped because its answer is no longer wanted."""


class StoppableCommand:
    """A source that wraps the command, so that another thread can stop it, even before it has started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._source: Source | None = None
        self._is_interrupted = False

    def open_source(self, request: Request, env: Environment) -> Source:
        with self._lock:
            if self._is_interrupted:
                raise Interrupted
            self._source = open_source(request, env)
        return self

    def interrupt(self) -> None:
        with self._lock:
            self._is_interrupted = True
            if isinstance(self._source, Command):
                self._source.interrupt()

    @property
    def _command(self) -> Source:
        assert self._source is not None
        return self._source

    def blocks(self) -> Iterator[tuple[Stream, bytes]]:
        return self._command.blocks()

    def end(self) -> Ending | None:
        try:
            return self._command.end()
        finally:
            if self._is_interrupted:
                # Leave the pipeline here, before it stores or charges anything.
                raise Interrupted

    def stop(self, stream: Stream) -> None:
        self._command.stop(stream)

    def limit_reached(self) -> None:
        self._command.limit_reached()

    def close(self) -> None:
        self._command.close()
