"""Describe many scalar values in a few words: one value, a few with their counts, a range, or examples."""

from __future__ import annotations

import re

from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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

    def add(self, counts: Mapping[str, int]) -> None:
        """Add values with the number of times that each occurs."""
        numbers = [word for word in counts if NUMBER.match(word)]
        self.numbers += sum(counts[word] for word in numbers)
        self._widen(numbers)
        for value, times in counts.items():
            self.count += times
            if value in self.values:
                self.values[value] += times
            elif len(self.values) < DISTINCT:
                self.values[value] = times
            else:
                self.many = True

    def _widen(self, numbers: Sequence[str]) -> None:
        """Make the range hold these numbers."""
        lowest, highest = [self.lowest, *numbers], [self.highest, *numbers]
        self.lowest = min(filter(None, lowest), key=float, default="")
        self.highest = max(filter(None, highest), key=float, default="")

    def forget(self, value: str) -> None:
        """Take back a word that was added once."""
        self.values.pop(value, None)
        self.count -= 1

    def join(self, other: ValueSummary) -> None:
        """Add the values of another place."""
        numbers, self.numbers = self.numbers + other.numbers, 0
        self.add(other.values)
        self.count += other.count - sum(other.values.values())
        self.many = self.many or other.many
        self.numbers = numbers
        self._widen([end for end in (other.lowest, other.highest) if end])

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
