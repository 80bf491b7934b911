"""Turn sums into the rows of a report: added up over the selected days, and sorted."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.usage.sums import FIELDS, POSITIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.usage.sums import By, Row, Sums


class ReportRow(Record):
    """The numbers of a day, a command or a session; or the total, which has no name."""

    tokenizer: str
    name: str
    numbers: tuple[int, ...]

    def __getitem__(self, field: str) -> int:
        return self.numbers[POSITIONS[field]]

    def as_json(self, by: By | None = None) -> dict[str, object]:
        """Return the row for programs, with its name under the key `by`."""
        named: dict[str, object] = {by: self.name} if by else {}
        return {**named, "tokenizer": self.tokenizer, **dict(zip(FIELDS, self.numbers, strict=True))}


class Report(Record):
    """What `tokcap stats` prints. Tokens of different tokenizers are never added up."""

    since: str
    totals: tuple[ReportRow, ...]
    by: dict[By, tuple[ReportRow, ...]]
    broken_lines: int
    full_days: tuple[str, ...]

    def rows(self, tokenizer: str, by: By) -> Sequence[ReportRow]:
        return [row for row in self.by[by] if row.tokenizer == tokenizer]


def make_report(sums: Sums, groups: Sequence[By], since: str, full_days: Sequence[str]) -> Report:
    """Report the days from `since` on.

    Days come in order, commands and sessions by how much they saved or lost.
    """
    totals: dict[tuple[str, str], Row] = {}
    for tokenizer, _, row in sums.selected("day", since):
        add(totals, (tokenizer, ""), row)
    by = {group: tuple(sorted_rows(sums, group, since)) for group in groups}
    total_rows = [ReportRow(tokenizer, name, tuple(row)) for (tokenizer, name), row in totals.items()]
    total_rows.sort(key=lambda row: (-row["runs"], row.tokenizer))
    broken = sum(number for day, number in sums.broken.items() if day >= since)
    return Report(since, tuple(total_rows), by, broken, tuple(day for day in full_days if day >= since))


def sorted_rows(sums: Sums, group: By, since: str) -> list[ReportRow]:
    """Return the rows of one table."""
    added: dict[tuple[str, str], Row] = {}
    for tokenizer, name, row in sums.selected(group, since):
        add(added, (tokenizer, name), row)
    rows = [ReportRow(tokenizer, name, tuple(row)) for (tokenizer, name), row in added.items()]
    if group == "day":
        return sorted(rows, key=lambda row: (row.name, row.tokenizer))
    return sorted(rows, key=lambda row: (-abs(row["saved_tokens"]), -row["runs"], row.name))


def add(rows: dict[tuple[str, str], Row], key: tuple[str, str], row: Row) -> None:
    """Add a row to the row of the same key."""
    known = rows.get(key)
    rows[key] = [*row] if known is None else [*map(int.__add__, known, row)]
