"""Ages, times, sizes, counts and texts as people read them, in a few characters."""

from __future__ import annotations

import time

UNITS = ("B", "K", "M", "G", "T")
# The last but one day of the year 9999: every time zone can write it.
LAST_SECONDS = 253_402_128_000


def age_of(seconds: float) -> str:
    """Return a time in the largest unit that fits: `5m`."""
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= length:
            return f"{int(seconds // length)}{unit}"
    return f"{max(int(seconds), 0)}s"


def size_of(count: float) -> str:
    """Return a number of bytes in the largest unit that fits: `1.5M`."""
    unit = 0
    while count >= 1024 and unit < len(UNITS) - 1:
        count, unit = count / 1024, unit + 1
    return f"{count:.0f}{UNITS[unit]}" if unit == 0 or count >= 10 else f"{count:.1f}{UNITS[unit]}"


def count_of(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: `1 output`, `2,000 outputs`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def printable(text: str, width: int) -> str:
    """Return a text that is safe to print on one line of a terminal, cut to a width."""
    # Bytes of an argument that are not UTF-8 are surrogates here.
    decoded = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    shown = "".join(character if character.isprintable() else "?" for character in decoded)
    return shown if len(shown) <= width else shown[: width - 1] + "…"


def local_time(seconds: float, form: str) -> str:
    """Return a time as `strftime` writes it. A clock that is far off gives the last possible day."""
    return time.strftime(form, time.localtime(min(seconds, LAST_SECONDS)))


def utc_time(seconds: float, form: str) -> str:
    return time.strftime(form, time.gmtime(min(seconds, LAST_SECONDS)))
