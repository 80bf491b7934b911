"""Count texts with a command of the user's or with a provider, and measure the factor of a profile.

A command gets each text on standard input and prints a number. Texts are sent only to the provider that is
asked for, over HTTPS or to this machine, and redirections are not followed: the key goes nowhere else.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from tokcap.core.units import count_of, printable
from tokcap.errors import TokcapError, TokenizerRefused
from tokcap.startup.record import TYPE_CHECKING
from tokcap.store import open_store
from tokcap.tokens import FAMILIES
from tokcap.tokens.adding import check_name
from tokcap.tokens.profiles import BASE, LARGEST_FACTOR, LEAST_FACTOR, UNITS_PER_TOKEN, Profile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from tokcap.environment import Environment

    Counter: TypeAlias = "CommandCounter | AnthropicCounter"

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
LONGEST_ANSWER = 1 << 16
LOOPBACK = ("localhost", "127.0.0.1", "::1")
# Answers that ask for patience, and how long to wait.
BUSY, PAUSES_SECONDS = (429, 500, 502, 503, 529), (1.0, 4.0, 16.0)


ANTHROPIC, COUNT_PATH = "https://api.anthropic.com", "/v1/messages/count_tokens"
DEFAULT_MODEL = "claude-opus-4-7"


def calibrated(
    name: str, counter: Counter, files: Sequence[str], env: Environment, *, most_texts: int
) -> Profile:
    """Return a profile of true counts, for texts of files or of stored outputs."""
    check_name(name, env, replacing="profiles")
    texts = texts_of(files, env, most_texts)
    extra = counter.count(LETTER) - 1
    if extra < 0:
        raise refused(f"the counter printed 0 for the text {LETTER!r}")
    counts = []
    for text in texts:
        tokens = counter.count(text) - extra
        if not 0 < tokens <= 4 * len(text.encode()):
            size = count_of(len(text), "character")
            raise refused(f"the counter printed {tokens + extra} for a text of {size}")
        counts.append(tokens)
    more = f"; {extra} subtracted from each count" if extra else ""
    kind = "files" if files else "stored outputs"
    day = time.strftime("%Y-%m-%d", time.gmtime(env.now()))
    source = f"calibrated on {day} with {len(texts)} texts of {kind}{counter.source}{more}"
    return measured(name, source, texts, counts)


def refused(reason: str) -> TokenizerRefused:
    return TokenizerRefused(f"{reason}; nothing was stored")


class CommandCounter:
    """Counts with a shell command."""

    source = ""

    def __init__(self, command: str, timeout_seconds: float, env: Environment) -> None:
        self._command = command
        self._timeout_seconds = timeout_seconds
        self._env = env

    def count(self, text: str) -> int:
        """Return what the command prints for a text."""
        process = subprocess.Popen(
            ["/bin/sh", "-c", self._command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(self._env.variables),
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
                raise refused(
                    f"the counter did not answer within {self._timeout_seconds:g} s (--timeout)"
                ) from None
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


class NoRedirection(HTTPRedirectHandler):
    """Reports a redirection as an error."""

    def redirect_request(self, *_: object) -> None:
        return None


class AnthropicCounter:
    """Counts with the endpoint of Anthropic, with the key of the user."""

    def __init__(
        self, model: str | None, endpoint: str | None, timeout_seconds: float, env: Environment
    ) -> None:
        """Refuse a missing key, and an endpoint that would get the key without encryption."""
        self._model = model or DEFAULT_MODEL
        self._timeout_seconds = timeout_seconds
        self._key = env.variables.get("ANTHROPIC_API_KEY", "")
        if not self._key:
            raise refused("set ANTHROPIC_API_KEY to your key")
        base = endpoint or env.variables.get("ANTHROPIC_BASE_URL") or ANTHROPIC
        parts = urlsplit(base)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
            raise refused(f"--endpoint {printable(base, LONGEST_SHOWN)!r} does not begin with https://")
        self._url = base.rstrip("/") + COUNT_PATH
        self.source = f", counted by {self._model}"

    def count(self, text: str) -> int:
        """Return the provider's count. Wait and ask again if it is busy."""
        message = {"model": self._model, "messages": [{"role": "user", "content": text}]}
        headers = {
            "x-api-key": self._key,
            "anthropic-version": "2023-06-01",
            "content-type": "application/json",
        }
        request = Request(self._url, json.dumps(message).encode(), headers)  # noqa: S310  # checked
        for pause in (*PAUSES_SECONDS, None):
            try:
                with build_opener(NoRedirection).open(request, timeout=self._timeout_seconds) as answer:
                    return int(json.loads(answer.read(LONGEST_ANSWER))["input_tokens"])
            except HTTPError as error:
                if pause is None or error.code not in BUSY:
                    raise refused(f"the provider answered {error.code}{reason_in(error)}") from None
                time.sleep(pause)
            except (URLError, OSError, ValueError, KeyError, TypeError) as error:
                reason = printable(str(getattr(error, "reason", error)), LONGEST_SHOWN)
                raise refused(f"the provider did not answer with a count: {reason}") from None
        raise AssertionError


def reason_in(error: HTTPError) -> str:
    """Return what an answer says about its error."""
    try:
        return ": " + printable(json.loads(error.read(LONGEST_ANSWER))["error"]["message"], LONGEST_SHOWN)
    except (OSError, ValueError, KeyError, TypeError):
        return ""


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
