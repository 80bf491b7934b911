"""The kinds of values: text in, the value out, or a `ValueError` that says what is expected.

Options, config keys and Typer's own options are all judged here, so one mistake has one wording.
"""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from tokcap.lean.table import Table

    Value: TypeAlias = "int | float | bool | str | None"

LARGEST_NUMBER = 2**63 - 1
# Some thirty years: the kernel's own clocks take it.
LONGEST_SECONDS = 1e9


class WholeNumber(Record):
    """Decimal digits and nothing else: no sign, no blank, no `1e3`."""

    type = "integer"
    minimum: int

    def read(self, raw: str) -> int:
        if not (raw.isascii() and raw.isdigit()):
            raise ValueError(f"{shortened(raw)} is not {self.expected}")
        # The length is looked at first: Python refuses to convert several thousand digits.
        digits = raw.lstrip("0") or "0"
        if len(digits) > 19 or int(digits) > LARGEST_NUMBER:
            raise ValueError(f"{shortened(raw)} is too large; at most {LARGEST_NUMBER}")
        if int(digits) < self.minimum:
            raise ValueError(f"{shortened(raw)} is not {self.expected}")
        return int(digits)

    @property
    def expected(self) -> str:
        return f"a whole number of at least {self.minimum}"


class Choice(Record):
    """One of a few words: fixed ones, then the names of a family's members."""

    type = "choice"
    fixed: tuple[str, ...] = ()
    # Read each time, so that a member added to the table later is a choice too.
    family: Table[Any] | None = None

    @property
    def words(self) -> tuple[str, ...]:
        return (*self.fixed, *(self.family or ()))

    def read(self, raw: str) -> str:
        if raw not in self.words:
            raise ValueError(f"{shortened(raw)} is not {self.expected}")
        return raw

    @property
    def expected(self) -> str:
        return f"one of {', '.join(self.words)}"


class Name(Record):
    """A word that is looked up later, before anything runs."""

    type = "string"
    expected: str

    def read(self, raw: str) -> str:
        if not raw.strip() or has_surrogates(raw):
            raise ValueError(f"{shortened(raw)} is not {self.expected}")
        return raw


class LineOfText(Record):
    """Any text that stays on one line, the empty one included."""

    type = "string"
    expected: str = "text without line breaks or control characters"

    def read(self, raw: str) -> str:
        if any(ch < " " or ch in "\x7f\x85\u2028\u2029" for ch in raw) or has_surrogates(raw):
            raise ValueError(f"{shortened(raw)} is not {self.expected}")
        return raw


class Size(Record):
    """A number of bytes: `4096`, `64KiB`, `1.5G`. `KB` is 1,000 bytes; `K` and `KiB` are 1,024."""

    type = "size"
    expected: str = "a size such as 4096, 64KiB, 100MB or 2G, of at least one byte"

    def read(self, raw: str) -> int:
        number = raw.rstrip("BKMGTibkmgt")
        unit = raw[len(number) :].lower()
        whole, _, fraction = number.partition(".")
        if not (number.isascii() and (whole + fraction).isdigit()) or len(number) > 30 or not whole:
            raise ValueError(f"{shortened(raw)} is not {self.expected}")
        scale = self._scale(unit)
        size = int(whole + fraction) * scale // 10 ** len(fraction) if scale else 0
        if not 1 <= size <= LARGEST_NUMBER:
            raise ValueError(f"{shortened(raw)} is not {self.expected}")
        return size

    @staticmethod
    def _scale(unit: str) -> int:
        """How many bytes a unit is; 0 if it is none."""
        if unit in ("", "b"):
            return 1
        power = "kmgt".find(unit[0]) + 1
        base = {"": 1024, "ib": 1024, "b": 1000}.get(unit[1:], 0)
        return base**power if power and base else 0


class Fraction(Record):
    """A part of a whole: `0.25`."""

    type = "number"
    expected: str = "a fraction above 0 and at most 1, such as 0.25"

    def read(self, raw: str) -> float:
        plain = raw.isascii() and raw.replace(".", "", 1).isdigit() and len(raw) <= 20
        if not plain or not 0 < float(raw) <= 1:
            raise ValueError(f"{shortened(raw)} is not {self.expected}")
        return float(raw)


class Duration(Record):
    """A time in seconds: `90`, `1.5m`, `2h`, `500ms`."""

    type = "duration"
    expected: str = "a duration such as 500ms, 10s, 1.5m or 2h, of at least a millisecond"

    def read(self, raw: str) -> float:
        number = raw.rstrip("msh")
        scale = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}.get(raw[len(number) :], 0.0)
        whole, _, fraction = number.partition(".")
        if not (number.isascii() and (whole + fraction).isdigit()) or len(number) > 15:
            raise ValueError(f"{shortened(raw)} is not {self.expected}")
        seconds = float(number) * scale
        if not 0.001 <= seconds <= LONGEST_SECONDS:
            raise ValueError(f"{shortened(raw)} is not {self.expected}")
        return seconds


class Switch(Record):
    """On or off. As a flag it takes no value, and `--no-NAME` turns it off again."""

    type = "boolean"
    expected: str = "one of true, false, yes, no, on, off, 1, 0"

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
    """Whether it has bytes of the command line that were no UTF-8."""
    return any("\ud800" <= ch <= "\udfff" for ch in text)


def shortened(value: object) -> str:
    """A value as it is shown in a message: quoted, and never longer than a line can bear."""
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else value[:37] + "...")
    try:
        shown = repr(value)
    except ValueError:
        return "the number"  # it has more digits than Python converts
    return shown if len(shown) <= 40 else shown[:37] + "..."
