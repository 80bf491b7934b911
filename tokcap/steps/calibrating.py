"""Count texts with a command of the user's, and measure the factor of a profile with its counts.

The command gets each text on standard input and prints a number. Nothing else is run, and nothing is sent.
"""

from __future__ import annotations

import os
import signal
import subprocess

from tokcap.core.units import count_of, printable
from tokcap.errors import TokcapError, TokenizerRefused
from tokcap.startup.record import TYPE_CHECKING
from tokcap.store import open_store
from tokcap.tokens import FAMILIES
from tokcap.tokens.adding import check_name
from tokcap.tokens.profiles import BASE, LARGEST_FACTOR, LEAST_FACTOR, UNITS_PER_TOKEN, Profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.environment import Environment

# Texts of this many characters are counted. A window of an ordinary limit has about as many.
TEXT_CHARACTERS = 4096
# A shorter rest of a file is left out: in a short text chance decides.
LEAST_CHARACTERS = 1024
LEAST_TEXTS = 8
# The outputs stored last are used if no files are named.
MOST_OUTPUTS = 100
# How much of a file is read.
MOST_BYTES = 1 << 20
# One token in every vocabulary. What its count has more is added to every text by the counter.
LETTER = "a"
LONGEST_SHOWN = 200


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
    check_name(name, env, replacing="profiles")
    texts = texts_of(files, env, most_texts)
    extra = counted(LETTER, command, timeout_seconds, env) - 1
    if extra < 0:
        raise refused(f"the counter printed 0 for the text {LETTER!r}")
    counts = []
    for text in texts:
        tokens = counted(text, command, timeout_seconds, env) - extra
        if not 0 < tokens <= 4 * len(text.encode()):
            size = count_of(len(text), "character")
            raise refused(f"the counter printed {tokens + extra} for a text of {size}")
        counts.append(tokens)
    more = f"; {extra} subtracted from each count" if extra else ""
    kind = "files" if files else "stored outputs"
    return measured(name, f"calibrated with {len(texts)} texts of {kind}{more}", texts, counts)


def refused(reason: str) -> TokenizerRefused:
    return TokenizerRefused(f"{reason}; nothing was stored")


def counted(text: str, command: str, timeout_seconds: float, env: Environment) -> int:
    """Return what the command prints for a text."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(env.variables),
        # So that everything that the command has started can be stopped.
        start_new_session=True,
    )
    try:
        printed, errors = process.communicate(text.encode(), timeout=timeout_seconds)
    except BaseException as error:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise refused(f"the counter did not answer within {timeout_seconds:g} s (--timeout)") from None
        raise
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    reason = f": {printable(lines[-1], LONGEST_SHOWN)}" if lines else ""
    if process.returncode:
        raise refused(f"the counter exited with status {process.returncode}{reason}")
    number = printed.strip()
    if not number.isdigit() or len(number) > 12:
        shown = printable(printed.decode("utf-8", "replace").strip(), LONGEST_SHOWN)
        raise refused(f"the counter printed {shown!r} instead of a number{reason}")
    return int(number)


def measured(name: str, source: str, texts: Sequence[str], counts: Sequence[int]) -> Profile:
    """Return the profile with the factor of all texts together, and how far it is off for each of them."""
    base = FAMILIES["embedded"].open(BASE)
    assert base
    base_counts = [base.count(text) for text in texts]
    factor = round(UNITS_PER_TOKEN * sum(counts) / sum(base_counts))
    if not LEAST_FACTOR <= factor <= LARGEST_FACTOR:
        raise refused(f"{factor / UNITS_PER_TOKEN:g} x {BASE} is no tokenizer's")
    # True tokens for an estimated one.
    ratios = [
        UNITS_PER_TOKEN * count / (factor * known) for count, known in zip(counts, base_counts, strict=True)
    ]
    mean_error = round(1000 * sum(abs(1 / ratio - 1) for ratio in ratios) / len(ratios))
    return Profile(name, factor, mean_error, max(round(1000 * max(ratios)) - 1000, 0), source)


def texts_of(files: Sequence[str], env: Environment, most_texts: int) -> list[str]:
    """Return texts, about as many of each file or stored output."""
    read = [of_file(path) for path in files] if files else stored_texts(env)
    usable = [text for text in read if len(text) >= LEAST_CHARACTERS]
    each = max(most_texts // max(len(usable), 1), 2)
    found = [part for text in usable for part in pieces_of(text, each)][:most_texts]
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


def stored_texts(env: Environment) -> list[str]:
    """Return the outputs stored last."""
    store = open_store(env)
    found = []
    for listed in store.latest(MOST_OUTPUTS):
        output = store.examine(listed.handle)
        if output is None:
            continue
        try:
            if payload := output.streams.get("out"):
                found.append(decoded(payload.read(0, min(payload.size, MOST_BYTES))))
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


def pieces_of(text: str, most: int) -> list[str]:
    """Return at most this many parts of a text, evenly spread over it."""
    starts = range(0, max(len(text) - LEAST_CHARACTERS, 0) + 1, TEXT_CHARACTERS)
    parts = [text[start : start + TEXT_CHARACTERS] for start in starts]
    number = min(len(parts), most)
    return [parts[len(parts) * place // number] for place in range(number)]
