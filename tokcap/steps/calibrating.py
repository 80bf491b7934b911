"""Count texts with a command of the user's, and make a profile of its counts.

The command gets each text on standard input and prints a number. Nothing else is run, and nothing is sent.
"""

from __future__ import annotations

import os
import signal
import subprocess

from tokcap.core.units import count_of, printable
from tokcap.errors import TokcapError, TokenizerRefused
from tokcap.lean.record import TYPE_CHECKING
from tokcap.steps.redrawn_line import RedrawnLine, can_draw
from tokcap.tokens.calibration import LEAST_CHARACTERS, LEAST_TEXTS, CountedText, pieces_of, profile_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.environment import Environment
    from tokcap.tokens.profile import Profile

# The outputs stored last are used if no files are named.
MOST_OUTPUTS = 100
# How much of a file is read.
MOST_BYTES = 1 << 20
# One token in every vocabulary. What its count has more is added to every text by the counter.
LETTER = "a"
LONGEST_SHOWN = 200


class CalibrationLine(RedrawnLine):
    """How many texts have been counted."""

    first_draw_seconds = 0.5
    redraw_seconds = 0.2

    def __init__(self, env: Environment, total: int) -> None:
        super().__init__(env)
        self._total = total
        self.done = 0
        self.start()

    def line(self, columns: int) -> str:
        return f"counted {self.done} of {count_of(self._total, 'text')}, {self.seconds} s"[: columns - 1]


class Counter:
    """The user's command."""

    def __init__(self, command: str, timeout_seconds: float, env: Environment) -> None:
        self._command = command
        self._timeout_seconds = timeout_seconds
        self._variables = dict(env.variables)

    def count(self, text: str) -> int:
        """Return what the command prints for a text; `TokenizerRefused` if that is not a number."""
        process = subprocess.Popen(
            ["/bin/sh", "-c", self._command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._variables,
            # So that everything that the command has started can be stopped.
            start_new_session=True,
        )
        try:
            printed, errors = process.communicate(text.encode(), timeout=self._timeout_seconds)
        except BaseException as error:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                limit = f"{self._timeout_seconds:g} s"
                raise TokenizerRefused(
                    f"the counter did not answer within {limit} (--timeout); nothing was stored"
                ) from None
            raise
        if process.returncode:
            raise TokenizerRefused(
                f"the counter exited with status {process.returncode}{last_line(errors)}; nothing was stored"
            )
        number = printed.strip()
        if not number.isdigit() or len(number) > 12:
            shown = printable(printed.decode("utf-8", "replace").strip(), LONGEST_SHOWN)
            raise TokenizerRefused(
                f"the counter printed {shown!r} instead of a number{last_line(errors)}; nothing was stored"
            )
        return int(number)


def last_line(errors: bytes) -> str:
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    return f": {printable(lines[-1], LONGEST_SHOWN)}" if lines else ""


def calibrated(
    name: str,
    command: str,
    files: Sequence[str],
    env: Environment,
    *,
    timeout_seconds: float,
    most_texts: int,
) -> Profile:
    """Return a profile of the counts that a command prints, for texts of files or of stored outputs."""
    texts = texts_of(files, env, most_texts)
    counter = Counter(command, timeout_seconds, env)
    line = CalibrationLine(env, len(texts)) if can_draw(env) else None
    try:
        extra = counter.count(LETTER) - 1
        if extra < 0:
            raise TokenizerRefused(f"the counter printed 0 for the text {LETTER!r}; nothing was stored")
        counted = []
        for origin, text in texts:
            tokens = counter.count(text) - extra
            if not 0 < tokens <= 4 * len(text.encode()):
                raise TokenizerRefused(
                    f"the counter printed {tokens + extra} for a text of {count_of(len(text), 'character')}; "
                    "nothing was stored"
                )
            counted.append(CountedText(origin, text, tokens))
            if line:
                line.done += 1
    finally:
        if line:
            line.erase()
    origins = len({origin for origin, _ in texts})
    more = f"; {extra} subtracted from each count" if extra else ""
    kind = "file" if files else "stored output"
    source = f"calibrated with {count_of(len(texts), 'text')} of {count_of(origins, kind)}{more}"
    return profile_of(name, counted, source)


def texts_of(files: Sequence[str], env: Environment, most_texts: int) -> list[tuple[str, str]]:
    """Return texts with the file or stored output that each is from; about as many of each."""
    read = [(path, of_file(path)) for path in files] if files else stored_texts(env)
    usable = [(origin, text) for origin, text in read if len(text) >= LEAST_CHARACTERS]
    each = max(most_texts // max(len(usable), 1), 2)
    found = [(origin, part) for origin, text in usable for part in pieces_of(text, each)][:most_texts]
    if len(found) < LEAST_TEXTS:
        raise TokenizerRefused(
            f"too little text: {count_of(len(found), 'text')} of {LEAST_CHARACTERS} characters or more, "
            f"{LEAST_TEXTS} are needed; name files that are like the outputs of your commands"
        )
    return found


def of_file(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return decoded(file.read(MOST_BYTES))
    except OSError as error:
        raise TokenizerRefused(f"{printable(path, LONGEST_SHOWN)}: {error.strerror}") from None


def stored_texts(env: Environment) -> list[tuple[str, str]]:
    """Return the outputs stored last, with their handles."""
    from tokcap.store import open_store

    store = open_store(env)
    found = []
    for listed in store.latest(MOST_OUTPUTS):
        output = store.examine(listed.handle)
        if output is None:
            continue
        try:
            if payload := output.streams.get("out"):
                found.append((listed.handle, decoded(payload.read(0, min(payload.size, MOST_BYTES)))))
        except TokcapError:
            # A damaged output is no reason to fail: there are others.
            continue
        finally:
            output.close()
    return found


def decoded(data: bytes) -> str:
    """Return text; nothing if it is not UTF-8."""
    # The last character may be cut.
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        return data[: error.start].decode() if error.start > len(data) - 4 else ""
