"""Run the pipeline inside another program: collect its output in memory, and leave the program unchanged.

Another thread can stop a command. Nothing of it is then stored or charged.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from tokcap import pipeline
from tokcap.api.results import read_tokens
from tokcap.core.payload import open_nameless_file
from tokcap.environment import OWN_WORDS, STDERR, STDOUT, Environment, ShellReader
from tokcap.errors import StreamError, UsageError
from tokcap.outputs import FORMS
from tokcap.source.command import Command
from tokcap.source.given import GivenBytes
from tokcap.startup.record import Record
from tokcap.steps.opening import open_source as open_usual_source
from tokcap.system.descriptors import write_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from mmap import mmap
    from typing import Self

    from tokcap.core.payload import Source
    from tokcap.core.request import Request, ShowRequest, Stream, View
    from tokcap.core.response import Response
    from tokcap.environment import Reader
    from tokcap.exits import Ending

    OpenSource = Callable[[Request, Environment], Source]


class CapturedCall(Record):
    """The exit status and the response of a call, and the bytes it would have written."""

    status: int
    response: Response
    stdout_data: bytes
    stderr_data: bytes
    words: bytes


def run_captured(
    request: Request, environment: CapturedEnvironment, open_source: OpenSource = open_usual_source
) -> CapturedCall:
    """Run a request and collect what it writes. `open_source` overrides where the bytes come from."""
    with environment:
        done = pipeline.run(request, environment.env, open_source)
        return environment.collected(done, request)


def cap_captured(
    request: Request, data: bytes | mmap, environment: CapturedEnvironment | None = None
) -> CapturedCall:
    """Run a request on bytes that the caller has already."""
    source = GivenBytes(data)
    return run_captured(request, environment or CapturedEnvironment(), lambda _request, _env: source)


def show_captured(request: ShowRequest, environment: CapturedEnvironment | None = None) -> CapturedCall:
    """Show a stored output and collect what is written."""
    with environment or CapturedEnvironment() as environment:
        return environment.collected(pipeline.show(request, environment.env), request)


class CapturedEnvironment:
    """A context manager that provides the `Environment` of one call and collects what the call writes."""

    # See `for_reader`.
    _reader: Reader = ShellReader()

    @classmethod
    def for_reader(cls, reader: Reader) -> None:
        """Word the way to the rest for this reader from now on, in the whole process.

        For a program whose readers are all of one kind, such as the MCP server.
        """
        cls._reader = reader

    def __init__(
        self,
        *,
        variables: Mapping[str, str] | None = None,
        directory: str | None = None,
        stdin: int | None = None,
        stdin_data: bytes | None = None,
        reader: Reader | None = None,
        counts: bool = True,
    ) -> None:
        """The command reads the descriptor `stdin`, or else `stdin_data`, or else nothing.

        `counts`: under a limit, `meta.returned_tokens` is known even if the output certainly fits.
        """
        if reader:
            self._reader = reader
        self._counts = counts
        self._variables = variables
        self._directory = directory
        self._stdin = stdin
        self._stdin_data = stdin_data
        self._descriptors: list[int] = []
        self._written = {STDOUT: bytearray(), STDERR: bytearray(), OWN_WORDS: bytearray()}

    def __enter__(self) -> Self:
        if self._directory is not None and not os.path.isdir(self._directory):
            raise UsageError(f"cwd: {self._directory!r} is not a directory")
        try:
            # If the program has closed a standard stream, its number is free. Occupy the number, or a pipe
            # opened later would get it and act as that stream.
            while not self._descriptors or self._descriptors[-1] <= STDERR:
                self._descriptors.append(os.open(os.devnull, os.O_RDWR))
            if self._stdin_data:
                self._descriptors.append(open_file_with(self._stdin_data))
        except OSError as error:
            self.__exit__()
            raise StreamError(f"cannot pass the input to the command: {error.strerror}") from None
        self.env = Environment(
            os.environ,
            stdin=self._descriptors[-1] if self._stdin is None else self._stdin,
            collect=lambda descriptor, data: self._written[descriptor].extend(data),
            directory=self._directory,
            reader=self._reader,
            command_variables=self._variables,
        )
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()

    def collected(self, done: pipeline.Done, view: View) -> CapturedCall:
        """Return the result of a call together with what it has written so far."""
        out, err, words = (bytes(self._written[place]) for place in (STDOUT, STDERR, OWN_WORDS))
        response, meta = done.response, done.response.meta
        if self._counts and not view.token_count and not FORMS[view.output].has_envelope:
            if meta.truncated is None:
                meta = meta.replace(truncated=False, token_limit=view.token_limit)
            if view.token_limit is not None:
                # Without a limit this could take a long time: then it is counted when somebody asks.
                meta = meta.replace(returned_tokens=read_tokens(out, err + words, meta))
        return CapturedCall(done.status, response.replace(meta=meta), out, err, words)


def open_file_with(data: bytes) -> int:
    """Open an unnamed temporary file that holds `data`, positioned at its start."""
    descriptor = open_nameless_file()
    try:
        write_all(descriptor, data)
        os.lseek(descriptor, 0, os.SEEK_SET)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


class Interrupted(Exception):
    """The command was stopped because its answer is no longer wanted."""


class StoppableCommand:
    """A source that wraps the command, so that another thread can stop it, even before it has started."""

    def __init__(self, *, forgets: bool = True) -> None:
        """`forgets`: nothing of a command that was stopped is stored or charged, and there is no result."""
        self._lock = threading.Lock()
        self._forgets = forgets
        self._source: Source | None = None
        self._is_interrupted = False

    def open_source(self, request: Request, env: Environment) -> Source:
        with self._lock:
            if self._is_interrupted:
                raise Interrupted
            self._source = open_usual_source(request, env)
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
            if self._is_interrupted and self._forgets:
                # Leave the pipeline here, before it stores or charges anything.
                raise Interrupted

    def stop(self, stream: Stream) -> None:
        self._command.stop(stream)

    def limit_reached(self) -> None:
        self._command.limit_reached()

    def close(self) -> None:
        self._command.close()
