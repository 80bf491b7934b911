"""A person at a real terminal, who starts a program, types, and reads what appears."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

from tests.support import hidden_failures
from tests.support.program import ROOT
from tokcap.__main__ import call
from tokcap.environment import Environment

PATIENCE_SECONDS = 60


class Typist:
    """A program as the leader of a session with its own terminal."""

    def __init__(self, *argv: str, rows: int = 24, columns: int = 80) -> None:
        self.pid, self._terminal = pty.fork()
        if not self.pid:
            try:
                os.chdir(ROOT)
                os.environ.update(PS1="$ ", TERM="xterm")
                # Wait until the size is set.
                os.read(0, 1)
                os.execvp(argv[0], argv)
            finally:
                os._exit(127)
        self.resize(rows, columns)
        os.write(self._terminal, b"\n")
        self.seen = ""
        self._status: int | None = None

    def __enter__(self) -> Typist:
        return self

    def __exit__(self, *_: object) -> None:
        if self._terminal >= 0:
            os.close(self._terminal)
        if self._status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def hang_up(self) -> None:
        """Take the terminal away."""
        os.close(self._terminal)
        self._terminal = -1

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def read(self, seconds: float = 0.05) -> str:
        """Return all that was shown since `forget`."""
        while select.select([self._terminal], [], [], seconds)[0]:
            try:
                block = os.read(self._terminal, 4096)
            except OSError:
                break
            if not block:
                break
            self.seen += block.decode("utf-8", "replace")
        return self.seen

    def forget(self) -> None:
        self.seen = ""

    def expect(self, text: str) -> None:
        """Wait until a text appears, and forget what was shown before it."""
        until = time.monotonic() + PATIENCE_SECONDS
        while text not in self.read():
            assert time.monotonic() < until, f"{text!r} did not appear; instead: {self.seen!r}"
        self.seen = self.seen[self.seen.index(text) :]

    @property
    def echoes(self) -> bool:
        """Whether the terminal shows what is typed."""
        return bool(termios.tcgetattr(self._terminal)[3] & termios.ECHO)

    def wait(self) -> int:
        """Read until the program has ended, and return its status as a shell reports it."""
        until = time.monotonic() + PATIENCE_SECONDS
        while self._status is None:
            assert time.monotonic() < until, f"it does not end: {self.seen!r}"
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = status
        self.read()
        hidden_failures.look_at(self.seen)
        code = os.waitstatus_to_exitcode(self._status)
        return code if code >= 0 else 128 - code


def on_a_terminal(*words: str, columns: int = 100, **variables: str) -> str:
    """Return all that a call of tokcap shows on a terminal of this width. The call must succeed."""
    screen, terminal = _new_terminal(columns)
    process = subprocess.Popen(
        [sys.executable, "-m", "tokcap", *words],
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        env={**os.environ, **variables},
    )
    os.close(terminal)
    shown = _all_that_is_shown(screen)
    assert process.wait(PATIENCE_SECONDS) == 0
    return shown


def report_on_a_terminal(*words: str, columns: int = 100, **variables: str) -> str:
    """Return what `on_a_terminal` returns, for a report: a call in this process, which runs no command."""
    screen, terminal = _new_terminal(columns)
    shown: list[str] = []
    # A terminal holds only a few kilobytes that nobody has read.
    reader = threading.Thread(target=lambda: shown.append(_all_that_is_shown(screen)))
    reader.start()
    try:
        with open(os.devnull, "rb") as nothing:
            env = Environment({**os.environ, **variables}, nothing.fileno(), terminal, terminal)
            assert call(words, env) == 0
    finally:
        os.close(terminal)
        reader.join()
    return shown[0]


def _new_terminal(columns: int) -> tuple[int, int]:
    screen, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (50, columns))
    return screen, terminal


def _all_that_is_shown(screen: int) -> str:
    shown = b""
    try:
        while block := os.read(screen, 1 << 16):
            shown += block
    except OSError:
        pass  # Linux says so that nobody has the terminal open any more
    os.close(screen)
    hidden_failures.look_at(shown)
    return shown.decode().replace("\r\n", "\n")
