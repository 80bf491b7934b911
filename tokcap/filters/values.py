"""The values of variables that are named like secrets: they are secrets wherever they appear."""

from __future__ import annotations

import re

from tokcap.filters.judges import SECRET_PARTS
from tokcap.startup.accelerators import json
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LEAST_CHARACTERS, MOST_CHARACTERS = 8, 1024
NAME_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
# Without a separator, as in `PGPASSWORD` and `apikey`.
NAME_ENDS = ("password", "passwd", "passphrase", "token", "secret", "apikey", "accesskey", "privatekey")
WORD = r"(?:[A-Z]?[a-z]+(?:[A-Z][a-z]{2,})*|[A-Z]+|\d+)"
# What says what a secret is, not the secret: words, numbers, files and addresses.
HARMLESS = re.compile(
    rf"{WORD}(?:[-_.,: ]{WORD})*|[\d.:+-]+|[A-Za-z][\w+.-]*://[^@]*|[A-Za-z]:\\.*"
    rf"|(?:~|\.\.?)?(?:/(?![^/]{{0,64}}[A-Z][^/]{{0,64}}\d[^/]{{8}})[^/\s]*)+"
)


def secret_values(variables: Mapping[str, str]) -> re.Pattern[bytes] | None:
    """Return a pattern for the values that are secrets; None if there are none."""
    found = {
        spelling.encode("utf-8", "surrogateescape")
        for name, value in variables.items()
        if is_secret_name(name)
        for line in value.splitlines()
        for spelling in spellings(line.strip())
    }
    # The longest first: one may begin with another.
    return re.compile(b"|".join(map(re.escape, sorted(found, key=len, reverse=True)))) if found else None


def is_secret_name(name: str) -> bool:
    parts = {part.lower().encode() for part in NAME_PARTS.findall(name)}
    return not name.startswith("TOKCAP_") and (
        not parts.isdisjoint(SECRET_PARTS) or name.lower().endswith(NAME_ENDS)
    )


def spellings(value: str) -> Iterator[str]:
    """Yield a secret value as it stands, in JSON, and in an address; nothing if it is none."""
    if not LEAST_CHARACTERS <= len(value) <= MOST_CHARACTERS or HARMLESS.fullmatch(value):
        return
    yield value
    yield json.encode_basestring(value)[1:-1]
    octets = value.encode("utf-8", "surrogateescape")
    yield "".join(
        chr(byte) if (chr(byte).isalnum() and byte < 128) or byte in b"-._~" else f"%{byte:02X}"
        for byte in octets
    )
