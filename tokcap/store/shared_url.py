"""The URL of a shared store, taken apart: `s3://bucket/prefix?timeout=5`.

Credentials are not part of it. They come from where the programs of each provider look for them.
"""

from __future__ import annotations

from tokcap.errors import UsageError
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Mapping

TIMEOUT_SECONDS = 10.0
LEAST_SECONDS, MOST_SECONDS = 0.1, 3600.0
# The parameters that every shared store takes.
TIMEOUT = "timeout"


class SharedUrl(Record):
    """The parts of a URL. The parts that are missing are empty."""

    scheme: str
    # The bucket or container; for `file`, the first part of the path.
    place: str
    # Without slashes at its ends.
    prefix: str
    timeout_seconds: float
    parameters: Mapping[str, str]

    @property
    def title(self) -> str:
        """The URL without parameters, for messages."""
        return f"{self.scheme}://{self.place}{'/' * bool(self.prefix)}{self.prefix}"


def parse(scheme: str, rest: str, known: tuple[str, ...] = ()) -> SharedUrl:
    """Take apart what follows `scheme://`; `UsageError` if it is not valid.

    Somebody may have put a password into it, so messages do not repeat it.
    """
    rest, _, query = rest.partition("?")
    place, _, prefix = rest.partition("/")
    if "@" in place:
        raise UsageError(
            "the store's URL must not contain a user or a password, which others may see; credentials come"
            " from where the provider's own programs look for them"
        )
    if not place and scheme != "file":
        raise UsageError(f"the store's URL must name a bucket: {scheme}://BUCKET or {scheme}://BUCKET/PREFIX")
    parameters = dict(part.partition("=")[::2] for part in query.split("&") if part)
    for name in parameters:
        if name not in (TIMEOUT, *known):
            names = ", ".join((TIMEOUT, *known))
            raise UsageError(f"the store's URL has an unknown parameter; known are {names}")
    return SharedUrl(
        scheme, place, prefix.strip("/"), seconds_of(parameters.pop(TIMEOUT, "")), parameters=parameters
    )


def seconds_of(text: str) -> float:
    try:
        seconds = float(text) if text else TIMEOUT_SECONDS
    except ValueError:
        seconds = 0.0
    # Not a number is not at least anything either.
    if not LEAST_SECONDS <= seconds <= MOST_SECONDS:
        raise UsageError(
            f"the store's URL: {TIMEOUT} must be seconds, from {LEAST_SECONDS:g} to {MOST_SECONDS:g}"
        )
    return seconds
