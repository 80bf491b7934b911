"""Headers of requests to a server, as options give them. A secret need not be in the list of processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcap.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# The proxy and the protocol need their own values of these.
RESERVED = ("accept", "content-length", "content-type", "host", "mcp-session-id", "transfer-encoding")


def headers_of(given: Iterable[str], variables: Mapping[str, str]) -> dict[str, str]:
    """Return headers by name; `UsageError` for one that cannot be sent.

    Each is `Name: value`, where `${NAME}` is the value of a variable, or `@FILE`, a file with one per line.
    """
    headers: dict[str, str] = {}
    for text in given:
        for line in lines_of(text):
            name, colon, value = line.partition(":")
            name, value = name.strip(), expanded(value.strip(), variables)
            if not colon or not name or not name.isascii() or not name.replace("-", "").isalnum():
                # The line may be a secret, so it is not shown.
                raise UsageError("--header: 'Name: value' or '@FILE' is expected")
            if not value.isprintable() or not value.isascii():
                raise UsageError(f"--header: the value of {name} has characters that cannot be sent")
            if name.lower() in RESERVED:
                raise UsageError(f"--header: {name} is set by the proxy itself")
            headers[name] = value
    return headers


def lines_of(text: str) -> list[str]:
    if not text.startswith("@"):
        return [text]
    try:
        with open(text[1:], encoding="utf-8") as file:
            return [line for line in file.read().splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "it is not text"
        raise UsageError(f"--header: cannot read {text[1:]}: {problem}") from None


def expanded(value: str, variables: Mapping[str, str]) -> str:
    """Return a value with variables replaced; `UsageError` if one is not set."""
    parts = value.split("${")
    for place, part in enumerate(parts[1:], 1):
        name, end, rest = part.partition("}")
        if not end:
            raise UsageError("--header: '${' without '}'")
        if name not in variables:
            raise UsageError(f"--header: the variable {name} is not set")
        parts[place] = variables[name] + rest
    return "".join(parts)
