"""Filters: what comes out does not depend on how what comes in is divided into blocks."""

from __future__ import annotations

import pytest

from tests.fuzz.target import Input, target
from tests.support import corpus, escapes, secret_samples
from tokcap.filters import redact, screen
from tokcap.filters.clean import Cleaner
from tokcap.filters.redact import Redactor

ESCAPES = [b"".join(escapes.PIECES[start : start + 12]) for start in range(0, len(escapes.PIECES), 6)]
SECRETS = [
    *(f"key: {token} and more\n".encode() for tokens in secret_samples.TOKENS.values() for token in tokens),
    ("before\n" + secret_samples.pem("RSA PRIVATE KEY") + "after\n").encode(),
    ("  " + secret_samples.pem("PRIVATE KEY").replace("\n", "\n  ") + "x").encode(),
    b'{"password": "hunter2hunter2", "token": "' + secret_samples.GITHUB.encode() + b'"}',
    b"https://user:pa55word@host/path?token=abcdefghijkl\nexport API_KEY=abc123def456\n",
    b"Authorization: Bearer abcdefghijklmnop\naws_secret_access_key = " + secret_samples.AWS_SECRET.encode(),
]


def through(filter_: Cleaner | Redactor, blocks: list[bytes]) -> bytes:
    return b"".join([*map(filter_.feed, blocks), filter_.flush()])


@target([*ESCAPES, *corpus.captures(), *corpus.TRICKY_TEXT])
def cleaner(given: Input) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if given.pick(2, (False, True)):
            # What is rare on a real screen happens all the time on a tiny one.
            patch.setattr(screen, "ROWS", 3)
            patch.setattr(screen, "COLUMNS", 12)
            patch.setattr(screen, "EDGE", 10)
        text = through(Cleaner(), [given.payload])
        assert through(Cleaner(), given.blocks(0, given.payload)) == text
        assert through(Cleaner(), [text]) == text
    assert not set(text) & ({*range(0x20), 0x7F} - {*b"\t\n"})
    assert not {*map(chr, range(0x80, 0xA0))} & set(text.decode("utf-8", "ignore"))
    assert all(line == line.rstrip(b" \t") for line in text.split(b"\n"))
    assert b"\n\n\n" not in text


@target([*SECRETS, *corpus.TRICKY_TEXT, *corpus.case_inputs("text")])
def redactor(given: Input) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redact, "WINDOW_BYTES", given.pick(2, (redact.WINDOW_BYTES, 9000)))
        whole, parts = Redactor(), Redactor()
        text = through(whole, [given.payload])
        assert through(parts, given.blocks(0, given.payload)) == text
        assert parts.found == whole.found
    if not whole.found:
        assert text == given.payload
