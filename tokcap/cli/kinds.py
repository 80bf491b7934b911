"""Kinds of values. Each reads a text and returns the value, or raises `ValueError` with what is expected.

Options, config keys and the options of subcommands all use these, so a mistake is worded the same everywhere.
`metavar` is how help shows a value of which nothing else is known.
"""

from __future__ import annotations

from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import TypeAlias

    # Others import it from here, together with the kinds.
    from tokcap.core.request import Value as Value

LARGEST_NUMBER = 2**63 - 1
# About thirty years, which the clocks of the kernel can hold.
LONGEST_SECONDS = 1e9


class WholeNumber(Record):
    """Decimal digits, as `4000`, `4,000`, `4_000` or `4k`: no sign, no space, no `1e3`.

    `k` is 1,000 and `M` is 1,000,000, as in the totals of marks: these are tokens, not bytes.
    """

    minimum: int
    metavar = "N"

    def read(self, raw: str) -> int:
        plain = raw if raw.isascii() and raw.isdigit() else plain_digits(raw)
        # Check the length first: Python refuses to convert several thousand digits.
        digits = plain.lstrip("0") or "0"
        if not plain:
            raise ValueError(f"{shortened(raw)} is not {self.expected}")
        if len(digits) > 19 or int(digits) > LARGEST_NUMBER:
            raise ValueError(f"{shortened(raw)} is too large; at most {LARGEST_NUMBER}")
        if int(digits) < self.minimum:
            raise ValueError(f"{shortened(raw)} is not {self.expected}")
        return int(digits)

    @property
    def expected(self) -> str:
        return f"a whole number of at least {self.minimum}"


def plain_digits(raw: str) -> str:
    """Return `4000` for `4,000`, `4_000` and `4k`, `1500` for `1.5k`; empty if it is not such a number."""
    places = {"k": 3, "m": 6}.get(raw[-1:].lower(), 0)
    whole, point, fraction = (raw[:-1] if places else raw).partition(".")
    for separator in ",_":
        first, *others = whole.split(separator)
        # Only thousands are separated: `1,5` may mean one and a half.
        if others and 1 <= len(first) <= 3 and all(len(group) == 3 for group in others):
            whole = first + "".join(others)
            break
    digits = whole + fraction
    if not (digits.isascii() and digits.isdigit()) or len(fraction) > places or bool(point) != bool(fraction):
        return ""
    return digits + "0" * (places - len(fraction)) if whole else ""


class Choice(Record):
    """One of a few words: fixed ones, then the names of a family's `Table`.

    The table is read each time, so a member that is registered later is a valid word too.
    """

    fixed: tuple[str, ...] = ()
    family: Collection[str] = ()
    metavar = ""

    @property
    def words(self) -> tuple[str, ...]:
        return (*self.fixed, *self.family)

    def read(self, raw: str) -> str:
        if raw not in self.words:
            from tokcap.core.spelling import nearest

            near = nearest(raw.lower(), self.words)
            hint = f"; did you mean {near}?" if near else ""
            raise ValueError(f"{shortened(raw)} is not {self.expected}{hint}")
        return raw

    @property
    def expected(self) -> str:
        return f"one of {', '.join(self.words)}"


class Name(Record):
    """A word that is looked up later, but before anything runs."""

    expected: str
    metavar = "NAME"

    def read(self, raw: str) -> str:
        if not raw.strip() or has_surrogates(raw):
            raise ValueError(f"{shortened(raw)} is not {self.expected}")
        return raw


class LineOfText(Record):
    """Any text on one line; it may be empty."""

    expected: str = "text without line breaks or control characters"
    metavar = "TEXT"

    def read(self, raw: str) -> str:
        if any(ch < " " or ch in "\x7f\x85\u2028\u2029" for ch in raw) or has_surrogates(raw):
            raise ValueError(f"{shortened(raw)} is not {self.expected}")
        return raw


class ServerUrl(LineOfText):
    """The URL of a server. It may contain a password, so no message repeats it."""

    metavar = "URL"

    def read(self, raw: str) -> str:
        try:
            return super().read(raw)
        except ValueError:
            raise ValueError(f"a URL must be {self.expected}") from None


def number_and_unit(raw: str, letters: str) -> tuple[str, str]:
    """Split `1.5m` into number and unit, which has only these letters; empty without such a number."""
    number = raw.rstrip(letters)
    is_number = number.isascii() and number.replace(".", "", 1).isdigit() and len(number) <= 30
    return (number, raw[len(number) :]) if is_number else ("", "")


class Size(Record):
    """A number of bytes: `4096`, `64KiB`, `1.5G`. `KB` is 1,000 bytes; `K` and `KiB` are 1,024."""

    expected: str = "a size such as 4096, 64KiB, 100MB or 2G, of at least one byte"
    metavar = "SIZE"

    def read(self, raw: str) -> int:
        number, unit = number_and_unit(raw, "BKMGTibkmgt")
        scale = self._scale(unit.lower())
        whole, _, fraction = number.partition(".")
        size = int(whole + fraction) * scale // 10 ** len(fraction) if scale and whole else 0
        if not 1 <= size <= LARGEST_NUMBER:
            raise ValueError(f"{shortened(raw)} is not {self.expected}")
        return size

    @staticmethod
    def _scale(unit: str) -> int:
        """Return how many bytes a unit is; 0 if it is not a unit."""
        if unit in ("", "b"):
            return 1
        power = "kmgt".find(unit[0]) + 1
        base = {"": 1024, "ib": 1024, "b": 1000}.get(unit[1:], 0)
        return base**power if power and base else 0


class Fraction(Record):
    """A part of a whole: `0.25`."""

    expected: str = "a fraction above 0 and at most 1, such as 0.25"
    metavar = "FRACTION"

    def read(self, raw: str) -> float:
        plain = raw.isascii() and raw.replace(".", "", 1).isdigit() and len(raw) <= 20
        if not plain or not 0 < float(raw) <= 1:
            raise ValueError(f"{shortened(raw)} is not {self.expected}")
        return float(raw)


class Duration(Record):
    """A time in seconds: `90`, `1.5m`, `2h`, `500ms`."""

    expected: str = "a duration such as 500ms, 10s, 1.5m or 2h, of at least a millisecond"
    metavar = "DURATION"

    def read(self, raw: str) -> float:
        number, unit = number_and_unit(raw, "msh")
        scale = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}.get(unit, 0.0)
        seconds = float(number or 0) * scale
        if not 0.001 <= seconds <= LONGEST_SECONDS:
            raise ValueError(f"{shortened(raw)} is not {self.expected}")
        return seconds


class Switch(Record):
    """On or off. As a flag it takes no value, and `--no-NAME` turns it off."""

    expected: str = "one of true, false, yes, no, on, off, 1, 0"
    metavar = ""

    def read(self, raw: str) -> bool:
        word = raw.lower()
        if word in ("true", "yes", "on", "1"):
            return True
        if word in ("false", "no", "off", "0"):
            return False
        raise ValueError(f"{shortened(raw)} is not {self.expected}")


if TYPE_CHECKING:
    Kind: TypeAlias = WholeNumber | Choice | Name | LineOfText | Size | Fraction | Duration | Switch


def has_surrogates(text: str) -> bool:
    """Return whether a text has bytes of the command line that are not UTF-8."""
    return any("\ud800" <= ch <= "\udfff" for ch in text)


def shortened(value: object) -> str:
    """Return a value as messages show it: quoted and cut to 40 characters."""
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else value[:37] + "...")
    try:
        shown = repr(value)
    except ValueError:
        return "the number"  # it has more digits than Python converts to text
    return shown if len(shown) <= 40 else shown[:37] + "..."
