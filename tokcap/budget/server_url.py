"""The URL of a ledger on a server, taken apart: `scheme://user:password@host:port/path?name=value`.

`urllib` would take as long to import as a step on a server takes.
"""

from __future__ import annotations

from tokcap.errors import UsageError
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Mapping

TIMEOUT_SECONDS = 3.0
LEASE_SECONDS = 20.0
# Parameters that every ledger on a server takes.
TIMEOUT, LEASE = "timeout", "lease"


class LedgerUrl(Record):
    """The parts of a URL, decoded. Missing parts are empty."""

    scheme: str
    user: str
    password: str
    host: str
    port: int | None
    path: str
    parameters: Mapping[str, str]

    @property
    def title(self) -> str:
        """The URL without user, password and parameters, for messages."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port is None else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.path}"

    def seconds(self, name: str, default: float, least: float = 0.1) -> float:
        """Return a parameter that is a number of seconds."""
        raw = self.parameters.get(name, "")
        try:
            seconds = float(raw) if raw else default
        except ValueError:
            seconds = 0.0
        # Not a number is not at least anything either.
        if not least <= seconds <= 24 * 3600:
            raise UsageError(f"the ledger's URL: {name} must be a number of seconds, at least {least:g}")
        return seconds


def parse_url(url: str, known: tuple[str, ...]) -> LedgerUrl:
    """Take a URL apart; `UsageError` if it is not one, or has a parameter that is not known.

    The URL may contain a password, so messages do not repeat it.
    """
    scheme, _, rest = url.partition("://")
    rest, _, query = rest.partition("?")
    place, slash, path = rest.partition("/")
    login, _, address = place.rpartition("@")
    user, _, password = login.partition(":")
    if address.startswith("["):
        host, _, port = address[1:].partition("]")
        port = port.removeprefix(":")
    else:
        host, _, port = address.partition(":")
    parameters = dict(part.partition("=")[::2] for part in query.split("&") if part)
    for name in parameters:
        if name not in known:
            raise UsageError(f"the ledger's URL: unknown parameter; known are {', '.join(known)}")
    if port and not (port.isdecimal() and 0 < int(port) < 1 << 16):
        raise UsageError("the ledger's URL: the port must be a number up to 65535")
    return LedgerUrl(
        scheme=scheme,
        user=unquoted(user),
        password=unquoted(password),
        host=unquoted(host),
        port=int(port) if port else None,
        path=unquoted(slash + path),
        parameters={name: unquoted(value) for name, value in parameters.items()},
    )


def title_of(url: str) -> str:
    """Return a URL without user, password and parameters. It may be wrong in any way."""
    scheme, colon, rest = url.partition("?")[0].partition("://")
    place, slash, path = rest.partition("/")
    return scheme + colon + place.rpartition("@")[2] + slash + path if colon else scheme.partition(":")[0]


def unquoted(text: str) -> str:
    """Replace `%41` by the character of that code."""
    first, *rest = text.encode().split(b"%")
    data = first
    for part in rest:
        try:
            data += bytes.fromhex(part[:2].decode()) + part[2:]
        except ValueError:
            raise UsageError("the ledger's URL: % must be followed by two hexadecimal digits") from None
    return data.decode("utf-8", "surrogateescape")
