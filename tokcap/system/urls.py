"""Parts of URLs. `urllib` would take as long to import as a step on a server takes."""

from __future__ import annotations

from tokcap.errors import UsageError
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_SECONDS = 24 * 3600


def parameters_in(query: str) -> dict[str, str]:
    """Return the parameters of a URL, which are still quoted."""
    return dict(part.partition("=")[::2] for part in query.split("&") if part)


def seconds_in(
    parameters: Mapping[str, str], name: str, default: float, least: float = 0.1, *, whose: str
) -> float:
    """Return a parameter that is a number of seconds; `UsageError` if it is something else."""
    try:
        seconds = float(parameters.get(name) or default)
    except ValueError:
        seconds = 0.0
    # Not a number is not at least anything either.
    if not least <= seconds <= MOST_SECONDS:
        raise UsageError(f"{whose}: {name} must be a number of seconds, at least {least:g}")
    return seconds


def unquoted(text: str) -> str:
    """Replace `%41` by the character of that code, in a part of a sound URL."""
    first, *rest = text.encode().split(b"%")
    data = first
    for part in rest:
        data += bytes.fromhex(part[:2].decode()) + part[2:]
    return data.decode("utf-8", "surrogateescape")
