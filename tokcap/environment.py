"""The environment of one call: standard streams, variables, directories and clocks.

The rest of tokcap reads none of these from the process itself, so a test or a library call passes its own.
"""

from __future__ import annotations

import os
import sys
import time

from tokcap.errors import ReaderGone, StreamError
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.system.descriptors import USUAL_COLUMNS, columns_of, write_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TypeAlias

    Reader: TypeAlias = "ShellReader | ToolReader | FunctionReader"
    Options: TypeAlias = Iterable[tuple[str, str]]

STDIN, STDOUT, STDERR = 0, 1, 2
# Set in what a shell of tokcap runs (see `Inside`). Empty or unset: nothing caps the output yet.
INSIDE = "TOKCAP_INSIDE"
# What an agent puts around an output (see `Frame`).
FRAME = "TOKCAP_FRAME"
PROGRAM = "tokcap"
# For `collect`: what tokcap itself says on stderr, apart from what the command wrote there.
OWN_WORDS = -1
# Where a private directory is made if `TMPDIR` is missing or cannot be written.
SYSTEM_TEMPORARY = "/tmp"  # noqa: S108  # nothing is written to it directly
# How much of the path of a home is in the name of its spare directory.
MOST_NAME_CHARACTERS = 100


class Stopwatch(Record):
    """Measures how long a call takes."""

    clock: Callable[[], float]
    started: float

    @property
    def milliseconds(self) -> int:
        return round((self.clock() - self.started) * 1000)


class Inside(Record):
    """The tokcap that caps what this process writes, as `TOKCAP_INSIDE` describes it: `4000:81023:tokcap`."""

    # The limit of that tokcap; 0 if it has none.
    limit_tokens: int = 0
    # The inode of the pipe that it reads.
    pipe: int = 0
    # How its reader calls tokcap: by name, or by a path if the name is not on PATH.
    program: str = PROGRAM

    @classmethod
    def read_from(cls, text: str) -> Inside:
        """Return what a variable says. It may have been set by hand: then nothing more is known."""
        limit, _, rest = text.partition(":")
        pipe, _, program = rest.partition(":")
        if not (limit.isdecimal() and pipe.isdecimal() and program):
            return cls()
        return cls(int(limit), int(pipe), program)

    def as_text(self) -> str:
        return f"{self.limit_tokens}:{self.pipe}:{self.program}"


class Frame(Record):
    """How an agent passes an output to its model, as `TOKCAP_FRAME` says: `tokens=34 as_json=1 cut=1900`.

    All of it is measured with the real agent.
    """

    # What the agent puts around an output.
    tokens: int = 0
    # 1: it writes the output as a JSON string. The model then pays for the escapes.
    as_json: int = 0
    # 1: it does not tell its model how a command ended, so a line does.
    tells_status: int = 0
    # If no limit is configured: what is passed on whole, and what is shown of a longer output.
    whole: int = 4000
    cut: int = 4000
    # Where the agent itself cuts, in characters, in those of a command that failed, in bytes and lines.
    characters: int = 0
    failed: int = 0
    size: int = 0
    lines: int = 0

    @classmethod
    def read_from(cls, text: str) -> Frame:
        """Return what a variable says; a frame of nothing if that makes no sense."""
        given = {}
        for word in text.split():
            name, _, number = word.partition("=")
            if name not in cls._fields or not (number.isascii() and number.isdecimal()):
                return cls()
            given[name] = int(number)
        return cls(**given)

    def as_text(self) -> str:
        """Return what `read_from` reads; empty if nothing is known."""
        given = self.__dict__.items()
        return " ".join(f"{name}={value}" for name, value in given if value != getattr(Frame, name))

    def usual(self) -> dict[str, int | str]:
        """Return what applies if nothing is configured."""
        return {"token_limit": self.whole, "limit_if_cut": self.cut, "keep": "auto"}

    def left_of(self, limit_tokens: int) -> int:
        """Return what the frame leaves of a limit. It takes at most a quarter."""
        return limit_tokens - min(self.tokens, limit_tokens // 4)

    def crowding(self, data: bytes, *, failed: bool) -> float:
        """Return how large an output is beside what the agent itself passes on whole: 1 or less fits."""
        if not (self.characters or self.size or self.lines):
            return 0
        text = data.decode("utf-8", "replace")
        characters = self.failed or self.characters if failed else self.characters
        pairs = ((len(text), characters), (len(data), self.size), (text.count("\n"), self.lines))
        return max(size / most for size, most in pairs if most)

    def around(self, data: bytes) -> bytes:
        """Return an output as the agent writes it."""
        if not self.as_json:
            return data
        from tokcap.startup.accelerators import json

        return json.encode_basestring(data.decode("utf-8", "replace"))[1:-1].encode()


class ShellReader(Record):
    """A reader with a shell: `tokcap show lake917365018@464 --stream err`.

    Each kind of reader words the way to an output in its own way, and only here. Offsets and pointers may be
    `{}`, which is filled in later. An option without a value is a switch.
    """

    program: str = PROGRAM

    @property
    def name(self) -> str:
        """How the reader calls tokcap, as a word for a shell."""
        if self.program == PROGRAM:
            return PROGRAM
        readable = self.program.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return quoted(readable).replace("{}", "{''}")

    def call(self, handle: str, options: Options = ()) -> str:
        """Return the call that shows a stored output; the handle may have an offset."""
        words = (f" --{key} {quoted(value)}" if value else f" --{key}" for key, value in options)
        return f"{self.name} show {handle}{''.join(words)}"

    def choice(self, option: str, value: str) -> str:
        """Return what may be added to a call to see less of the output."""
        return f"[--{option} {value}]"


class ToolReader(Record):
    """A reader that calls the tools of a server: `show handle=lake917365018@464 stream=err`."""

    show: str = "show"
    search: str = "grep"

    @property
    def name(self) -> str:
        return self.show

    def call(self, handle: str, options: Options = ()) -> str:
        given = tool_arguments(options)
        words = (f" {argument_of(key)}={quoted(value)}" for key, value in given.items())
        return f"{self.search if 'grep' in given else self.show} handle={handle}{''.join(words)}"

    def choice(self, option: str, value: str) -> str:
        tool = f"or {self.search} " if option == "grep" and self.search != self.show else ""
        return f"[{tool}{argument_of(option)}={value}]"


class FunctionReader(Record):
    """A reader that calls a function: `call tokcap_show(handle="lake917365018", offset=464)`."""

    name: str = "tokcap_show"

    def call(self, handle: str, options: Options = ()) -> str:
        handle, _, offset = handle.partition("@")
        given = tool_arguments(options)
        offset = given.pop("token-offset", offset)
        words = [f'handle="{handle}"', *([f"offset={offset}"] if offset else ())]
        words += (f'{argument_of(key)}="{value}"' for key, value in given.items())
        return f"call {self.name}({', '.join(words)})"

    def choice(self, option: str, value: str) -> str:
        return f'[or {argument_of(option)}="{value}"]'


def tool_arguments(options: Options) -> dict[str, str]:
    """Return the options that a tool has as arguments. It has one tokenizer for all calls."""
    return {key: value or "true" for key, value in options if key != "tokenizer"}


def argument_of(option: str) -> str:
    return {"grep": "pattern", "token-offset": "offset"}.get(option, option)


def quoted(value: str) -> str:
    """Return a value as a word for a shell; not the braces that are filled in later."""
    from tokcap.system.quoting import quoted

    return value if value == "{}" else quoted(value)


class Environment(Record):
    """Where a call reads and writes, and how it learns settings, directories and the time."""

    variables: Mapping[str, str]
    stdin: int = STDIN
    stdout: int = STDOUT
    stderr: int = STDERR
    # Standard descriptors that were closed when the program started.
    closed: frozenset[int] = frozenset()
    # For durations; it never runs backwards.
    clock: Callable[[], float] = time.monotonic
    # Seconds since 1970. It may jump, so no output depends on it.
    now: Callable[[], float] = time.time
    # The process session: all processes of one terminal window usually have the same.
    process_session: Callable[[], int] = lambda: os.getsid(0)
    # Receives all writes instead of the descriptors. Set when tokcap is used as a library.
    collect: Callable[[int, bytes], None] | None = None
    # The command's working directory and variables; None: those of this process.
    directory: str | None = None
    command_variables: Mapping[str, str] | None = None
    # How the way to the rest is worded.
    reader: Reader = ShellReader()
    # The limit of another tokcap that reads the output of this one; None if there is no such.
    outer_limit_tokens: int | None = None
    # What the reader puts around the output, if that is known.
    frame: Frame | None = None

    @classmethod
    def of_this_process(cls) -> Environment:
        """Return the environment of the running program, with closed standard descriptors replaced.

        Otherwise the next `pipe` or `open` would reuse such a descriptor, and output would end up in an
        unrelated file. Commands do not inherit the replacements: they find the descriptors closed.
        """
        closed = set()
        for descriptor in (STDIN, STDOUT, STDERR):
            try:
                os.fstat(descriptor)
            except OSError:
                closed.add(descriptor)
                os.open(os.devnull, os.O_RDWR)
        env = cls(variables=os.environ, closed=frozenset(closed))
        return env.replace(**env._surroundings()) if os.environ.get(INSIDE) else env

    def for_pages(self) -> Environment:
        """Return what applies to `show`: its reader calls tokcap as it was called, by a path if it has to.

        The first mark is made without a path, or by a hook that knows what its reader can call.
        """
        is_usual = self.reader.name == PROGRAM
        return self.replace(reader=ShellReader(own_name(self.variables))) if is_usual else self

    def _surroundings(self) -> dict[str, object]:
        """Return what a surrounding tokcap means for this call, if it reads the output of this one."""
        inside = Inside.read_from(self.variables[INSIDE])
        is_read = os.fstat(self.stdout).st_ino == inside.pipe
        limit = inside.limit_tokens if is_read and inside.limit_tokens else None
        # The limit is already without the tokens of the frame.
        frame = self.framed().frame if limit else None
        return {"reader": ShellReader(inside.program), "outer_limit_tokens": limit, "frame": frame}

    def framed(self) -> Environment:
        """Return the environment with the frame that a variable describes."""
        text = self.variables.get(FRAME)
        if not text:
            return self
        return self.replace(frame=Frame.read_from(text))

    def stopwatch(self) -> Stopwatch:
        """Start measuring."""
        return Stopwatch(self.clock, self.clock())

    @property
    def is_program(self) -> bool:
        """Whether this process is tokcap itself, with its own signals, terminal and standard streams."""
        return self.collect is None

    def is_terminal(self, descriptor: int) -> bool:
        """Return whether a descriptor of this program is a terminal; no library call has one."""
        return self.is_program and descriptor not in self.closed and os.isatty(descriptor)

    def columns(self, descriptor: int) -> int:
        """Return the width that text is made for. A narrower terminal breaks lines itself."""
        return max(columns_of(descriptor), USUAL_COLUMNS) if self.is_terminal(descriptor) else USUAL_COLUMNS

    def home(self) -> str:
        """Return the user's home directory."""
        return self.variables.get("HOME") or os.path.expanduser("~")

    def config_file(self) -> str:
        """Return the path of the user's `config.toml`. `TOKCAP_CONFIG` overrides it."""
        named = self.variables.get("TOKCAP_CONFIG")
        return named or os.path.join(self._user_dir("config", ".config"), "config.toml")

    def data_dir(self) -> str:
        """Return the directory of stored outputs and sessions. `TOKCAP_DATA_DIR` overrides it."""
        named = self.variables.get("TOKCAP_DATA_DIR")
        path = named or self._user_dir("data", ".local/share")
        try:
            return os.path.abspath(path)
        except FileNotFoundError:
            # The current directory was removed. Writing below it fails later, with an error.
            return path

    def spare_data_dir(self) -> str:
        """Return where outputs of this home are stored if the data directory cannot be written."""
        named = self.variables.get("TMPDIR", "")
        is_usable = os.path.isabs(named) and os.access(named, os.W_OK | os.X_OK)
        home = self.home().rstrip("/").replace("/", "-")[-MOST_NAME_CHARACTERS:]
        return os.path.join(named if is_usable else SYSTEM_TEMPORARY, f"tokcap-{os.geteuid()}{home}")

    def _user_dir(self, kind: str, below_home: str) -> str:
        # The rule of the package platformdirs, whose import takes twice as long as starting Python. A test
        # compares the two.
        base = self.variables.get(f"XDG_{kind.upper()}_HOME", "")
        if not os.path.isabs(base):
            is_mac = sys.platform == "darwin"
            base = os.path.join(self.home(), "Library/Application Support" if is_mac else below_home)
        return os.path.join(base, "tokcap")

    def write_stdout(self, data: bytes) -> None:
        """Write all of `data`; `StreamError` or `ReaderGone` if that fails."""
        if data:
            self._write(self.stdout, data, "standard output")

    def write_stderr(self, data: bytes) -> None:
        """Write as much of `data` as possible. A failure cannot be reported anywhere."""
        try:
            if data:
                self._write(self.stderr, data, "standard error")
        except (StreamError, ReaderGone):
            pass

    def write_words(self, words: bytes) -> None:
        """Write tokcap's own words to stderr. A library caller gets them apart from the command's stderr."""
        if self.collect is None:
            self.write_stderr(words)
        elif words:
            self.collect(OWN_WORDS, words)

    def tell(self, message: str) -> None:
        """Write one line to stderr. Library callers find the message in their result instead."""
        if self.is_program:
            self.write_stderr(line_of(message))

    def _write(self, descriptor: int, data: bytes, name: str) -> None:
        if self.collect is not None:
            self.collect(descriptor, data)
            return
        if descriptor in self.closed:
            raise StreamError(f"cannot write {name}: it is closed")
        try:
            write_all(descriptor, data)
        except BrokenPipeError:
            raise ReaderGone(f"the reader of {name} is gone") from None
        except OSError as error:
            raise StreamError(f"cannot write {name}: {error.strerror}") from None


def own_name(variables: Mapping[str, str]) -> str:
    """Return how a shell with these variables can call this program: by its name, or else by its path."""
    path = own_path(sys.argv[0])
    directories = (variables.get("PATH") or os.defpath).split(os.pathsep) if path != PROGRAM else ()
    is_found = any(os.access(os.path.join(directory, PROGRAM), os.X_OK) for directory in directories)
    return PROGRAM if is_found else path


def own_path(argument: str) -> str:
    """Return the full path of this program, or its name if `argument` is not such a path."""
    if os.path.basename(argument) == PROGRAM and "/" in argument and os.access(argument, os.X_OK):
        return os.path.abspath(argument)
    return PROGRAM


def line_of(message: str) -> bytes:
    """Return the line that tells a message on stderr."""
    return f"tokcap: {one_line(message)}\n".encode("utf-8", "surrogateescape")


def one_line(message: str) -> str:
    """Escape the control characters of a message. File names in it may contain anything."""
    if message.isascii() and message.isprintable():
        return message
    return "".join(escaped(ch) if is_control(ch) else ch for ch in message)


def is_control(ch: str) -> bool:
    """Return whether a character is a control, a Unicode line separator or a change of text direction."""
    return ch < " " or "\x7f" <= ch <= "\x9f" or "\u2028" <= ch <= "\u202e" or "\u2066" <= ch <= "\u2069"


def escaped(ch: str) -> str:
    return f"\\x{ord(ch):02x}" if ch < "\u0100" else f"\\u{ord(ch):04x}"
