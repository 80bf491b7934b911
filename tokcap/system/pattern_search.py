"""Search lines with the pattern of a caller, in a process of its own, which is ended if it takes too long.

Python's engine can need longer than anybody waits, and holds the interpreter all the time. So `PatternSearch`
sends lines to a child process that runs `serve`. The system ends the child at a limit of CPU time, so the
result does not depend on how busy the machine is. The child ends within moments after its parent has, also
while it searches: Python handles signals inside a search.
"""

from __future__ import annotations

import os
import signal
import sys
from array import array

from tokcap.errors import PatternTooSlow, TokcapError
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator
    from typing import IO, Self

# The CPU time of a search: this much, and this much for each MiB of lines. Usual patterns need a tenth of it.
FIRST_SECONDS, SECONDS_PER_MIB = 1.5, 0.5
# How often the child looks whether its parent is still there.
LOOK_SECONDS = 0.2
# The child uses the `sys.path` of the parent, and never the current directory.
SERVING = "import sys; sys.path[:] = sys.argv[2:]; from tokcap.system.pattern_search import serve; serve()"
SIZE_BYTES = 8


class PatternSearch:
    """A context in which lines are searched. `PatternTooSlow` is raised if the pattern needs too long.

    Without the context, no process is started.
    """

    def __init__(
        self, pattern: str, option: str, *, long_characters: int = 0, apart_characters: int = 0
    ) -> None:
        """`option` names the pattern in errors.

        In a line longer than `long_characters`, all matches are found that are this far `apart`; in others,
        the first one.
        """
        self._pattern = pattern
        self._option = option
        self._widths = long_characters, apart_characters

    def __enter__(self) -> Self:
        # This import takes half as long as Python takes to start.
        import subprocess

        try:
            self._child = subprocess.Popen(
                (sys.executable, "-I", "-S", "-c", SERVING, str(os.getpid()), *sys.path),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            raise TokcapError(
                f"{self._option}: no process can be started to search: {error.strerror}"
            ) from None
        for data in (self._pattern.encode("utf-8", "surrogatepass"), array("Q", self._widths).tobytes()):
            self._send(data)
        return self

    def __exit__(self, *_: object) -> None:
        self._child.kill()
        for stream in (self._child.stdin, self._child.stdout):
            try:
                if stream:
                    stream.close()
            except OSError:
                # Something was still buffered for a child that had ended.
                pass
        self._child.wait()

    def places_in(self, lines: bytes) -> dict[int, list[int]]:
        """Return the characters where matches begin, for each line that has one. The first line is line 0."""
        self._send(lines)
        assert self._child.stdout
        try:
            reply = array("Q", received(self._child.stdout))
        except EOFError:
            raise self._failure() from None
        found: dict[int, list[int]] = {}
        for line, place in zip(reply[::2], reply[1::2], strict=True):
            found.setdefault(line, []).append(place)
        return found

    def _send(self, data: bytes) -> None:
        assert self._child.stdin
        try:
            send(self._child.stdin, data)
        except OSError:
            raise self._failure() from None

    def _failure(self) -> TokcapError:
        status = self._child.wait()
        if status == -signal.SIGPROF:
            return PatternTooSlow(
                f"{self._option}: the pattern {self._pattern!r} takes too long on this output,"
                " and was stopped; repeat nothing that is repeated, as in (a+)+"
            )
        return TokcapError(f"{self._option}: internal error: the search ended with status {status}")


def send(stream: IO[bytes], data: bytes) -> None:
    stream.write(len(data).to_bytes(SIZE_BYTES))
    stream.write(data)
    stream.flush()


def received(stream: IO[bytes]) -> bytes:
    """Return what `send` has sent; raise `EOFError` if the other side has ended."""
    size = stream.read(SIZE_BYTES)
    if len(size) == SIZE_BYTES:
        data = stream.read(int.from_bytes(size))
        if len(data) == int.from_bytes(size):
            return data
    raise EOFError


def serve() -> None:
    """In the child process: read a pattern and two widths, then lines. Answer with places of matches."""
    parent = int(sys.argv[1])

    def look(*_: object) -> None:
        if os.getppid() != parent:
            os._exit(0)

    # A parent may have ignored or blocked them. An interrupt is for the parent, which ends the child.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, look)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGPROF, signal.SIGALRM))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, LOOK_SECONDS, LOOK_SECONDS)
    signal.setitimer(signal.ITIMER_PROF, FIRST_SECONDS)
    import re

    try:
        pattern = re.compile(received(sys.stdin.buffer).decode("utf-8", "surrogatepass"))
        long_characters, apart_characters = array("Q", received(sys.stdin.buffer))
        while True:
            lines = received(sys.stdin.buffer)
            left, _ = signal.getitimer(signal.ITIMER_PROF)
            signal.setitimer(signal.ITIMER_PROF, left + SECONDS_PER_MIB * len(lines) / (1 << 20))
            reply = array("Q")
            for number, line in enumerate(lines.removesuffix(b"\n").split(b"\n")):
                # Each byte that is not UTF-8 becomes one character that no valid text contains.
                text = line.removesuffix(b"\r").decode("utf-8", "surrogateescape")
                is_long = len(text) > long_characters > 0
                for place in places_of(pattern, text, apart_characters if is_long else len(text) + 1):
                    reply.extend((number, place))
            send(sys.stdout.buffer, reply.tobytes())
    except EOFError:
        pass


def places_of(pattern: re.Pattern[str], text: str, apart_characters: int) -> Iterator[int]:
    """Yield where matches begin that are at least this far apart."""
    following = 0
    for match in pattern.finditer(text):
        if match.start() >= following:
            yield match.start()
            following = match.start() + apart_characters
            if following > len(text):
                return
