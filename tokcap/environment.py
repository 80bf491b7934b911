"""The world around one call: descriptors, variables, directories, clock. A test hands in its own."""

from __future__ import annotations

import os
import sys
import time

from tokcap.errors import ReaderGone, StreamError
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

STDIN, STDOUT, STDERR = 0, 1, 2

# Whether tokcap is the program that runs here, and all of its threads can bear a fork.
may_always_fork = False


def expect_threads() -> None:
    """From now on calls run in threads of their own: a fork would copy locks that nobody releases."""
    global may_always_fork
    may_always_fork = False


class Stopwatch(Record):
    """Measures how long a call takes."""

    clock: Callable[[], float]
    started: float

    @property
    def milliseconds(self) -> int:
        return round((self.clock() - self.started) * 1000)


class Environment(Record):
    """Where a call reads, writes, looks things up and tells the time."""

    variables: Mapping[str, str]
    stdin: int = STDIN
    stdout: int = STDOUT
    stderr: int = STDERR
    # Standard descriptors that were closed when the program started.
    closed: frozenset[int] = frozenset()
    clock: Callable[[], float] = time.monotonic
    # Seconds since 1970. May jump; nothing that is shown depends on it.
    now: Callable[[], float] = time.time
    # Takes what would be written to a descriptor: then tokcap is a library in somebody else's program.
    take: Callable[[int, bytes], None] | None = None
    # Where a command is started, and the variables that it finds; None: where we are, and ours.
    directory: str | None = None
    command_variables: Mapping[str, str] | None = None

    @classmethod
    def of_this_process(cls) -> Environment:
        """The real world, with the holes among descriptors 0 to 2 filled.

        A closed one would be handed out again by the next `pipe` or `open`, and the payload would
        end up in it. The fillers are not inherited: a command finds them closed, as it would have.
        """
        global may_always_fork
        may_always_fork = True
        closed = set()
        for descriptor in (STDIN, STDOUT, STDERR):
            try:
                os.fstat(descriptor)
            except OSError:
                closed.add(descriptor)
                os.open(os.devnull, os.O_RDWR)
        return cls(variables=os.environ, closed=frozenset(closed))

    def stopwatch(self) -> Stopwatch:
        """Start measuring."""
        return Stopwatch(self.clock, self.clock())

    @property
    def is_program(self) -> bool:
        """Whether this process is tokcap's own: its signals, its terminal, its standard streams."""
        return self.take is None

    def home(self) -> str:
        """The user's own directory; where nothing names it, the one that the system knows."""
        return self.variables.get("HOME") or os.path.expanduser("~")

    def config_file(self) -> str:
        """Path of the user's `config.toml`; `TOKCAP_CONFIG` names another file."""
        named = self.variables.get("TOKCAP_CONFIG")
        return named or os.path.join(self._user_dir("config", "XDG_CONFIG_HOME", ".config"), "config.toml")

    def data_dir(self) -> str:
        """Where outputs and sessions are stored; `TOKCAP_DATA_DIR` names another place."""
        named = self.variables.get("TOKCAP_DATA_DIR")
        path = named or self._user_dir("data", "XDG_DATA_HOME", ".local/share")
        try:
            return os.path.abspath(path)
        except FileNotFoundError:
            # The current directory was removed; whoever wants to write below it will be told.
            return path

    def _user_dir(self, kind: str, variable: str, below_home: str) -> str:
        # Importing platformdirs takes twice as long as starting Python. On Linux its answer is this
        # one rule; a test compares the two.
        if sys.platform.startswith("linux"):
            base = self.variables.get(variable, "").strip()
            return os.path.join(base or os.path.join(self.home(), below_home), "tokcap")
        import platformdirs

        find = platformdirs.user_config_dir if kind == "config" else platformdirs.user_data_dir
        return find("tokcap", appauthor=False)

    def write_stdout(self, data: bytes) -> None:
        """Write all of `data`, or say why not."""
        if data:
            self._write(self.stdout, data, "standard output")

    def write_stderr(self, data: bytes) -> None:
        """Write as much of `data` as can be. Nobody can be told when that fails."""
        try:
            if data:
                self._write(self.stderr, data, "standard error")
        except (StreamError, ReaderGone):
            pass

    def tell(self, message: str) -> None:
        """One line on stderr. Whoever calls a library reads the same in its result."""
        if self.is_program:
            self.write_stderr(f"tokcap: {one_line(message)}\n".encode("utf-8", "surrogateescape"))

    def tell_below(self, written: bytes, messages: Sequence[str]) -> None:
        """Lines on stderr below something that may have ended in the midst of one."""
        if self.is_program and messages and written[-1:] not in (b"", b"\n"):
            self.write_stderr(b"\n")
        for message in messages:
            self.tell(message)

    def _write(self, descriptor: int, data: bytes, name: str) -> None:
        if self.take is not None:
            self.take(descriptor, data)
            return
        if descriptor in self.closed:
            raise StreamError(f"cannot write {name}: it is closed")
        left = memoryview(data)
        while left:
            try:
                left = left[os.write(descriptor, left) :]
            except BlockingIOError:
                wait_until_ready(descriptor, to_write=True)
            except BrokenPipeError:
                raise ReaderGone(f"the reader of {name} has gone") from None
            except OSError as error:
                raise StreamError(f"cannot write {name}: {error.strerror}") from None


def one_line(message: str) -> str:
    """A message without characters that control a terminal: names in it may hold whatever they like."""
    if message.isascii() and message.isprintable():
        return message
    return "".join(escaped(ch) if is_control(ch) else ch for ch in message)


def is_control(ch: str) -> bool:
    """Control characters of both tables, line ends of Unicode, and what turns the direction of writing."""
    return ch < " " or "\x7f" <= ch <= "\x9f" or "\u2028" <= ch <= "\u202e" or "\u2066" <= ch <= "\u2069"


def escaped(ch: str) -> str:
    return f"\\x{ord(ch):02x}" if ch < "\u0100" else f"\\u{ord(ch):04x}"


def wait_until_ready(descriptor: int, *, to_write: bool) -> None:
    """Wait for a descriptor that somebody made non-blocking; terminals and sockets can be such."""
    import select

    poll = select.poll()
    poll.register(descriptor, select.POLLOUT if to_write else select.POLLIN)
    poll.poll()


def is_ready(descriptor: int, seconds: float) -> bool:
    """Whether there is something to read, or its end, within that time."""
    import select

    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))
