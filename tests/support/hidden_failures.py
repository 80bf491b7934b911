"""Failures that the program rescues its user from, and that a test must not miss.

The rescue shows some output whatever happens, so most tests would pass with a defect in a cutter or a
tokenizer. Everything that the helpers read from the program is searched here. A test that provokes a failure
on purpose is marked with `@pytest.mark.provokes(CODE)`.
"""

from __future__ import annotations

import re

INTERNAL_ERROR = "INTERNAL_ERROR"

# As a code in JSON, and as the words of the message on stderr.
SIGNS = {
    "CUT_FAILED": re.compile(r'"code": ?"CUT_FAILED"|cutting failed|tokcap: .*\bcut failed\b'),
    "TOKENIZER_FAILED": re.compile(
        r'"code": ?"TOKENIZER_FAILED"|; counted every byte as a token instead|tokcap: .*\btokenizer failed\b'
    ),
    "REPEAT_FAILED": re.compile(r'"code": ?"REPEAT_FAILED"|tokcap: .*\brepeat failed\b'),
    INTERNAL_ERROR: re.compile(r"internal error: "),
}

seen: dict[str, str] = {}


def failures_in(*outputs: bytes | str | None) -> dict[str, str]:
    """Return the code of each failure that these outputs report, with the text around it."""
    found = {}
    for output in outputs:
        text = output.decode("utf-8", "replace") if isinstance(output, bytes) else output or ""
        for code, sign in SIGNS.items():
            match = sign.search(text)
            if match:
                found[code] = text[max(match.start() - 200, 0) : match.end() + 300]
    return found


def look_at(*outputs: bytes | str | None) -> None:
    """Remember what these outputs report, for the fixture `no_hidden_failure`."""
    seen.update(failures_in(*outputs))
