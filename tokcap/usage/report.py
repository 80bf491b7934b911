"""Sums in, rows to be told out: added up over the days that were asked for, in the order they stand in."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.usage.sums import FIELDS, PLACES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.usage.sums import By, Row, Sums


class Told(Record):
    """One row: a day, a command or a session, or everything."""

    tokenizer: str
    name: str
    numbers: tuple[int, ...]

    def __getitem__(self, field: str) -> int:
        return self.numbers[PLACES[field]]

    def as_json(self, by: By | None = None) -> dict[str, object]:
        """For programs: under `by` the name, which everything has none of."""
        named: dict[str, object] = {by: self.name} if by else {}
        return {**named, "tokenizer": self.tokenizer, **dict(zip(FIELDS, self.numbers, strict=True))}


class Report(Record):
    """What is told. Tokens of one tokenizer are none of another's, so nothing is added up across them."""

    since: str
    totals: tuple[Told, ...]
    by: dict[By, tuple[Told, ...]]
    broken_lines: int
    full_days: tuple[str, ...]

    def of(self, tokenizer: str, by: By) -> Sequence[Told]:
        return [row for row in self.by[by] if row.tokenizer == tokenizer]


def report(sums: Sums, groups: Sequence[By], since: str, full_days: Sequence[str]) -> Report:
    """Days in their order; commands and sessions by what they have saved, be it much or less than nothing."""
    totals: dict[tuple[str, str], Row] = {}
    for tokenizer, _, row in sums.selected("day", since):
        add(totals, (tokenizer, ""), row)
    by: dict[By, tuple[Told, ...]] = {}
    for group in groups:
        rows: dict[tuple[str, str], Row] = {}
        for tokenizer, name, row in sums.selected(group, since):
            add(rows, (tokenizer, name), row)
        told = [Told(tokenizer, name, tuple(row)) for (tokenizer, name), row in rows.items()]
        if group == "day":
            told.sort(key=lambda row: (row.name, row.tokenizer))
        else:
            told.sort(key=lambda row: (-abs(row["saved_tokens"]), -row["runs"], row.name))
        by[group] = tuple(told)
    every = [Told(tokenizer, name, tuple(row)) for (tokenizer, name), row in totals.items()]
    every.sort(key=lambda row: (-row["runs"], row.tokenizer))
    broken = sum(number for day, number in sums.broken.items() if day >= since)
    return Report(since, tuple(every), by, broken, tuple(day for day in full_days if day >= since))


def add(rows: dict[tuple[str, str], Row], key: tuple[str, str], row: Row) -> None:
    known = rows.get(key)
    rows[key] = [*row] if known is None else [*map(int.__add__, known, row)]
