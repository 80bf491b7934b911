"""Describe many scalar values in a few words: one value, a few with their counts, a range, or examples."""

from __future__ import annotations

import re

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z", re.ASCII)
# How many different values are remembered, and how many are named with their number.
DISTINCT, NAMED = 60, 5
EXAMPLE_CHARACTERS, NAMED_CHARACTERS = 60, 24


class ValueSummary:
    """The values of one place: the different ones if they are few, and the range of numbers."""

    __slots__ = ("count", "highest", "lowest", "many", "numbers", "values")

    def __init__(self) -> None:
        self.count = 0
        self.values: dict[str, int] = {}
        # Whether there are more different values than are remembered.
        self.many = False
        self.numbers = 0
        self.lowest = self.highest = ""

    def add(self, value: str, times: int = 1, *, number: bool) -> None:
        self.count += times
        if value in self.values:
            self.values[value] += times
        elif len(self.values) < DISTINCT:
            self.values[value] = times
        else:
            self.many = True
        if number:
            self.numbers += times
            if not self.lowest or float(value) < float(self.lowest):
                self.lowest = value
            if not self.highest or float(value) > float(self.highest):
                self.highest = value

    def add_unnamed(self, times: int, numbers: Sequence[str], number_times: int) -> None:
        """Add values when no more are remembered. `numbers` are the different numbers among them."""
        self.count += times
        self.many = True
        self.numbers += number_times
        lowest, highest = [self.lowest, *numbers], [self.highest, *numbers]
        self.lowest = min(filter(None, lowest), key=float, default="")
        self.highest = max(filter(None, highest), key=float, default="")

    def join(self, other: ValueSummary) -> None:
        """Add the values of another place."""
        for value, times in other.values.items():
            self.add(value, times, number=False)
        self.count += other.count - sum(other.values.values())
        self.many = self.many or other.many
        self.numbers += other.numbers
        ends = [end for end in (self.lowest, self.highest, other.lowest, other.highest) if end]
        self.lowest, self.highest = min(ends, key=float, default=""), max(ends, key=float, default="")

    @property
    def words(self) -> str:
        """The values in words."""
        if len(self.values) == 1 and not self.many:
            return clipped(next(iter(self.values)), EXAMPLE_CHARACTERS)
        if self.few:
            ranked = sorted(self.values.items(), key=lambda item: -item[1])
            return ", ".join(
                f"{clipped(value, NAMED_CHARACTERS)} x{times}" for value, times in ranked[:NAMED]
            )
        if self.numbers == self.count:
            return f"{clipped(self.lowest, NAMED_CHARACTERS)}..{clipped(self.highest, NAMED_CHARACTERS)}"
        distinct = f"{len(self.values)}+" if self.many else str(len(self.values))
        examples = self._examples()
        return f"{distinct} values, e.g. {', '.join(examples)}"

    @property
    def few(self) -> bool:
        """Whether the values are worth naming: few, and repeated."""
        return not self.many and len(self.values) <= NAMED and self.count > len(self.values)

    def _examples(self) -> Sequence[str]:
        # Rare kinds of values (null among strings, a word among numbers) get an example too.
        kinds = {kind_of(value): value for value in reversed(self.values)}
        return [clipped(value, EXAMPLE_CHARACTERS) for value in reversed(kinds.values())][:3]


def kind_of(value: str) -> str:
    if value == "null" or value.startswith('"'):
        return value[:1]
    return "number" if NUMBER.match(value) else "word"


def clipped(text: str, characters: int) -> str:
    """Return a value on one line, shortened, with its closing quote if it had one."""
    text = "".join(sign if sign.isprintable() else " " for sign in text[: 2 * characters])
    if len(text) <= characters:
        return text
    return text[: characters - 4] + '..."' if text.startswith('"') else text[: characters - 3] + "..."
