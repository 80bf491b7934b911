"""Ages, sizes, numbers and names as people read them, in a few characters."""

from __future__ import annotations

UNITS = ("B", "K", "M", "G", "T")


def age_of(seconds: float) -> str:
    """A time in the largest unit that fits: `5m`."""
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= length:
            return f"{int(seconds // length)}{unit}"
    return f"{max(int(seconds), 0)}s"


def size_of(count: float) -> str:
    """Bytes in the largest unit that fits: `1.5M`."""
    unit = 0
    while count >= 1024 and unit < len(UNITS) - 1:
        count, unit = count / 1024, unit + 1
    return f"{count:.0f}{UNITS[unit]}" if unit == 0 or count >= 10 else f"{count:.1f}{UNITS[unit]}"


def count_of(number: int, one: str, many: str = "") -> str:
    """`1 output`, `2,000 outputs`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def printable(text: str, width: int) -> str:
    """A text on one line of a terminal, whatever it holds, and no wider than asked."""
    # Bytes of an argument that are no UTF-8 came in as surrogates.
    decoded = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    shown = "".join(character if character.isprintable() else "?" for character in decoded)
    return shown if len(shown) <= width else shown[: width - 1] + "…"
