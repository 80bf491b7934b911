"""Lines in, sums out: by day, command and session. Exact numbers only; what is not exact is counted apart.

A run withholds its total less what it has shown; each later `show` of its output takes away from what that
has saved. So a saving can be below zero, and is told as that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tokcap.usage.lines import Line

By: TypeAlias = Literal["day", "command", "session"]

# What a row has, in the order in which it is stored.
FIELDS = (
    "runs",
    "shows",
    "shown_tokens",
    "withheld_tokens",
    "saved_tokens",
    # Runs whose output was passed on and never counted, and `show` calls likewise.
    "uncounted_runs",
    "uncounted_shows",
    "uncounted_bytes",
    # Runs whose total is only estimated, so that nobody knows what they withheld.
    "inexact_runs",
    # Outputs that cost more than they saved, and by how much.
    "dearer_outputs",
    "dearer_tokens",
    "output_bytes",
    "shown_bytes",
)
PLACES = {name: place for place, name in enumerate(FIELDS)}

Row: TypeAlias = list[int]
# Day, tokenizer, what it is a sum by, and the name there.
Key: TypeAlias = tuple[str, str, By, str]
# Where a line counts: day, tokenizer, command, session.
Place: TypeAlias = tuple[str, str, str, str]

NO_SESSION = "(none)"
UNKNOWN = "(unknown)"
OTHERS = "(others)"

# A day has rows for so many commands and so many sessions; others share one.
MOST_NAMES = 500
# So many outputs are remembered, to know of a later `show` whose saving it lessens.
MOST_OUTPUTS = 5000
# Of so many the store is asked whether they were counted since.
MOST_ASKED = 500


class Waiting:
    """Runs at one place whose total is not known yet, and what was shown of them."""

    __slots__ = ("known", "later", "runs")

    def __init__(self, runs: int = 0, known: int = 0, later: int = 0) -> None:
        # `known`: tokens of stderr, less what was shown at first. `later`: what `show` has cost.
        self.runs, self.known, self.later = runs, known, later


class Output:
    """A stored output: what it has saved so far, or what waits for its total."""

    __slots__ = ("command", "saved", "total", "waiting")

    def __init__(self, command: str, saved: int = 0, total: int | None = None) -> None:
        self.command, self.saved, self.total = command, saved, total
        self.waiting: dict[Place, Waiting] = {}


class Sums:
    """All sums, and the outputs that may still change them."""

    def __init__(self) -> None:
        self.rows: dict[Key, Row] = {}
        # By handle and tokenizer; the latest last.
        self.outputs: dict[tuple[str, str], Output] = {}
        # Broken lines by day.
        self.broken: dict[str, int] = {}
        self._names: dict[tuple[str, str, By], int] = {}
        self._rows_of: dict[Place, tuple[Row, ...]] = {}

    def add(self, day: str, line: Line | None) -> None:
        """Count one line."""
        if line is None:
            self.broken[day] = self.broken.get(day, 0) + 1
        elif line.kind == "run":
            self._add_run(day, line)
        else:
            self._add_show(day, line)

    def _add_run(self, day: str, line: Line) -> None:
        place = (day, line.tokenizer, line.command, line.session)
        amounts = {"runs": 1, "output_bytes": line.bytes, "shown_bytes": line.shown_bytes}
        if line.shown is None:
            # It may have been passed on whole, but how many tokens that were is not known.
            self._count(place, {**amounts, "uncounted_runs": 1, "uncounted_bytes": line.shown_bytes})
            return
        amounts["shown_tokens"] = line.shown
        output = self._output(line) if line.handle else Output(line.command)
        total = line.total
        if total is None and output.total is not None and line.stderr is not None:
            total = output.total + line.stderr
        if total is not None:
            withheld = total - line.shown
            self._count(place, {**amounts, "withheld_tokens": withheld, **saving(output, withheld)})
            return
        self._count(place, {**amounts, "inexact_runs": 1})
        if line.stderr is not None:
            waiting = output.waiting.setdefault(place, Waiting())
            waiting.runs += 1
            waiting.known += line.stderr - line.shown

    def _add_show(self, day: str, line: Line) -> None:
        output = self.outputs.get((line.handle, line.tokenizer)) or Output("")
        place = (day, line.tokenizer, line.command or output.command or UNKNOWN, line.session)
        amounts = {"shows": 1, "shown_bytes": line.shown_bytes}
        if line.shown is None:
            self._count(place, {**amounts, "uncounted_shows": 1, "uncounted_bytes": line.shown_bytes})
            return
        amounts["shown_tokens"] = line.shown
        if output.waiting:
            # What it takes away from is not known yet.
            output.waiting.setdefault(place, Waiting()).later += line.shown
        else:
            amounts |= saving(output, -line.shown)
        self._count(place, amounts)

    def _output(self, line: Line) -> Output:
        key = (line.handle, line.tokenizer)
        output = self.outputs.pop(key, None) or Output(line.command)
        self.outputs[key] = output
        if len(self.outputs) > MOST_OUTPUTS:
            del self.outputs[next(iter(self.outputs))]
        return output

    def _count(self, place: Place, amounts: dict[str, int]) -> None:
        rows = self._rows_of.get(place)
        if rows is None:
            day, tokenizer, command, session = place
            rows = self._rows_of[place] = (
                self._row(day, tokenizer, "day", day),
                self._row(day, tokenizer, "command", command),
                self._row(day, tokenizer, "session", session or NO_SESSION),
            )
        for name, amount in amounts.items():
            number = PLACES[name]
            for row in rows:
                row[number] += amount

    def _row(self, day: str, tokenizer: str, by: By, name: str) -> Row:
        key = (day, tokenizer, by, name)
        row = self.rows.get(key)
        if row is None:
            known = self._names.get(key[:3], 0)
            if known >= MOST_NAMES and name != OTHERS:
                return self._row(day, tokenizer, by, OTHERS)
            self._names[key[:3]] = known + 1
            row = self.rows[key] = [0] * len(FIELDS)
        return row

    def restore(self, key: Key, row: Row) -> None:
        """A row as it was stored."""
        self._names[key[:3]] = self._names.get(key[:3], 0) + 1
        self.rows[key] = row

    def ask_for_totals(self, find_total: Callable[[str, str], int | None]) -> bool:
        """Take up totals of stdout that were counted since; whether there were any.

        `find_total` is given handle and tokenizer. It raises `KeyError` for an output that is not there any
        more: what that one withheld will never be known.
        """
        waiting = [key for key, output in self.outputs.items() if output.waiting][-MOST_ASKED:]
        changed = False
        for key in waiting:
            try:
                total = find_total(*key)
            except KeyError:
                del self.outputs[key]
                changed = True
                continue
            if total is not None:
                self._settle(self.outputs[key], total)
                changed = True
        return changed

    def _settle(self, output: Output, total: int) -> None:
        output.total = total
        for place, waiting in output.waiting.items():
            withheld = waiting.runs * total + waiting.known
            saved = saving(output, withheld - waiting.later)
            self._count(place, {"withheld_tokens": withheld, "inexact_runs": -waiting.runs, **saved})
        output.waiting = {}

    def drop_days(self, is_dropped: Callable[[str], bool]) -> None:
        """Forget days."""
        self.rows = {key: row for key, row in self.rows.items() if not is_dropped(key[0])}
        self.broken = {day: number for day, number in self.broken.items() if not is_dropped(day)}
        for output in self.outputs.values():
            kept = {place: waiting for place, waiting in output.waiting.items() if not is_dropped(place[0])}
            output.waiting = kept
        self._names, self._rows_of = {}, {}
        for key in self.rows:
            self._names[key[:3]] = self._names.get(key[:3], 0) + 1

    def selected(self, by: By, since: str) -> Iterator[tuple[str, str, Row]]:
        """Tokenizer, name and row, from a day on; one name may come more than once."""
        for (day, tokenizer, found_by, name), row in self.rows.items():
            if found_by == by and day >= since:
                yield tokenizer, name, row


def saving(output: Output, tokens: int) -> dict[str, int]:
    """What an output saves more than before, or less; and whether it has come to cost more than it saves."""
    before, after = output.saved, output.saved + tokens
    output.saved = after
    if before >= 0 and after >= 0:
        return {"saved_tokens": tokens}
    return {
        "saved_tokens": tokens,
        "dearer_outputs": (after < 0) - (before < 0),
        "dearer_tokens": min(before, 0) - min(after, 0),
    }
