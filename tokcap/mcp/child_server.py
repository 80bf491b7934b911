"""A server that is started as a child process and speaks over its stdin and stdout."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from typing import TYPE_CHECKING

from tokcap import exits
from tokcap.errors import CommandNotExecutable, CommandNotFound
from tokcap.mcp.connection import IncomingLines, OutgoingLines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# A client waits two seconds after it has closed the connection, and kills the proxy after two more.
END_SECONDS = 1.5
TERM_SECONDS = 0.5


class ChildServer:
    """A server process. Its stderr is that of the proxy."""

    def __init__(self, argv: Sequence[str]) -> None:
        """Start it; raise if that is not possible."""
        try:
            # A group of its own: the server may be a script that starts the real one.
            self._process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, process_group=0
            )
        except FileNotFoundError as error:
            if error.filename is not None and error.filename != argv[0]:
                raise
            raise CommandNotFound(f"mcp wrap: {argv[0]}: command not found") from None
        except OSError as error:
            problem = error.strerror or str(error)
            raise CommandNotExecutable(f"mcp wrap: {argv[0]}: cannot be executed: {problem}") from None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin = self._process.stdin
        self._lines = IncomingLines(self._process.stdout.fileno())
        self._outgoing = OutgoingLines(self._stdin.fileno(), lambda: None)
        self._reader: threading.Thread | None = None

    def start(self, receive: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        """Read what the server writes, in a thread, until it ends."""

        def read() -> None:
            for line in self._lines:
                receive(line)
            on_end()

        self._reader = threading.Thread(target=read, name="tokcap.mcp.wrap", daemon=True)
        self._reader.start()

    def send(self, line: bytes) -> None:
        self._outgoing.send(line)

    def finish(self) -> int:
        """Let the server end, because the client has, and return its exit status."""
        self._stdin.close()
        if not self._ends_within(END_SECONDS):
            self._signal(signal.SIGTERM)
            if not self._ends_within(TERM_SECONDS):
                self._signal(signal.SIGKILL)
            self._process.wait()
            self._read_rest()
            # It was stopped because the client has gone; that is not a failure.
            return exits.OK
        self._read_rest()
        status = self._process.returncode
        return exits.SIGNAL_BASE - status if status < 0 else status

    def stop(self, number: int) -> None:
        """Pass on a signal that ends the proxy, and end the server in any case."""
        self._signal(number)
        if not self._ends_within(END_SECONDS):
            self._signal(signal.SIGKILL)
            self._process.wait()

    def _read_rest(self) -> None:
        """Wait until what the server has written is passed on. A process that it left may keep the pipe."""
        if self._reader:
            self._reader.join(TERM_SECONDS)

    def _ends_within(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            pass
