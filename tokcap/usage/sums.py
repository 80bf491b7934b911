"""Add up logged calls by day, command and session.

Only exact numbers are added. Calls without an exact number are counted separately.

A run withholds its total minus what it has shown. Each later `show` of its output reduces what the run has
saved, so a saving can be below zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from tokcap.usage.log_reader import LoggedCall

By: TypeAlias = Literal["day", "command", "session"]

# The numbers of a row, in the order in which `sums.json` stores them.
FIELDS = (
    "runs",
    "shows",
    "shown_tokens",
    "withheld_tokens",
    "saved_tokens",
    # Runs and `show` calls whose output was streamed through and never counted.
    "uncounted_runs",
    "uncounted_shows",
    "uncounted_bytes",
    # Runs whose total is only an estimate, so that what they withheld is unknown.
    "inexact_runs",
    # Outputs that cost more tokens than they saved, and how many more.
    "net_loss_outputs",
    "net_loss_tokens",
    "output_bytes",
    "shown_bytes",
)
POSITIONS = {name: position for position, name in enumerate(FIELDS)}

Row: TypeAlias = list[int]
# Day, tokenizer, what the row is a sum by, and the name of that day, command or session.
RowKey: TypeAlias = tuple[str, str, By, str]
# What a call counts for: day, tokenizer, command, session.
Group: TypeAlias = tuple[str, str, str, str]

NO_SESSION = "(none)"
UNKNOWN = "(unknown)"
OTHERS = "(others)"

# A day has rows for at most this many commands and as many sessions. The others share one row.
MOST_NAMES = 500
# Remember this many outputs, to know which saving a later `show` reduces.
MOST_OUTPUTS = 5000
# Ask for the totals of at most this many outputs.
MOST_ASKED = 500


class Pending:
    """The runs of one group with an unknown total, and what was shown of them."""

    __slots__ = ("known_tokens", "runs", "show_tokens")

    def __init__(self, runs: int = 0, known_tokens: int = 0, show_tokens: int = 0) -> None:
        # `known_tokens`: the tokens of stderr minus those shown at first. `show_tokens`: what `show` has
        # cost.
        self.runs, self.known_tokens, self.show_tokens = runs, known_tokens, show_tokens


class Output:
    """A stored output: what it has saved so far, and the runs that wait for its total."""

    __slots__ = ("command", "pending", "saved_tokens", "total_tokens")

    def __init__(self, command: str, saved_tokens: int = 0, total_tokens: int | None = None) -> None:
        self.command, self.saved_tokens, self.total_tokens = command, saved_tokens, total_tokens
        self.pending: dict[Group, Pending] = {}

    def save(self, tokens: int) -> dict[str, int]:
        """Add to what it has saved; return the changes of all sums that depend on it."""
        before, after = self.saved_tokens, self.saved_tokens + tokens
        self.saved_tokens = after
        if before >= 0 and after >= 0:
            return {"saved_tokens": tokens}
        return {
            "saved_tokens": tokens,
            "net_loss_outputs": (after < 0) - (before < 0),
            "net_loss_tokens": min(before, 0) - min(after, 0),
        }


class Sums:
    """All sums, and the outputs that may still change them."""

    def __init__(self) -> None:
        self.rows: dict[RowKey, Row] = {}
        # By handle and tokenizer, the most recent last.
        self.outputs: dict[tuple[str, str], Output] = {}
        # The number of damaged lines per day.
        self.broken: dict[str, int] = {}
        self._names: dict[tuple[str, str, By], int] = {}
        self._rows_of: dict[Group, tuple[Row, ...]] = {}

    def add(self, day: str, call: LoggedCall | None) -> None:
        """Add one line of the log; None for a damaged one."""
        if call is None:
            self.broken[day] = self.broken.get(day, 0) + 1
        elif call.kind == "run":
            self._add_run(day, call)
        else:
            self._add_show(day, call)

    def _add_run(self, day: str, call: LoggedCall) -> None:
        group = (day, call.tokenizer, call.command, call.session)
        amounts = {"runs": 1, "output_bytes": call.output_bytes, "shown_bytes": call.shown_bytes}
        if call.shown_tokens is None:
            self._count(group, {**amounts, "uncounted_runs": 1, "uncounted_bytes": call.shown_bytes})
            return
        amounts["shown_tokens"] = call.shown_tokens
        output = self._output(call) if call.handle else Output(call.command)
        total = call.total_tokens
        if total is None and output.total_tokens is not None and call.stderr_tokens is not None:
            total = output.total_tokens + call.stderr_tokens
        if total is not None:
            withheld = total - call.shown_tokens
            self._count(group, {**amounts, "withheld_tokens": withheld, **output.save(withheld)})
            return
        self._count(group, {**amounts, "inexact_runs": 1})
        if call.stderr_tokens is not None:
            pending = output.pending.setdefault(group, Pending())
            pending.runs += 1
            pending.known_tokens += call.stderr_tokens - call.shown_tokens

    def _add_show(self, day: str, call: LoggedCall) -> None:
        output = self.outputs.get((call.handle, call.tokenizer)) or Output("")
        group = (day, call.tokenizer, call.command or output.command or UNKNOWN, call.session)
        amounts = {"shows": 1, "shown_bytes": call.shown_bytes}
        if call.shown_tokens is None:
            self._count(group, {**amounts, "uncounted_shows": 1, "uncounted_bytes": call.shown_bytes})
            return
        amounts["shown_tokens"] = call.shown_tokens
        if output.pending:
            # The saving that it reduces is not known yet.
            output.pending.setdefault(group, Pending()).show_tokens += call.shown_tokens
        else:
            amounts |= output.save(-call.shown_tokens)
        self._count(group, amounts)

    def _output(self, call: LoggedCall) -> Output:
        key = (call.handle, call.tokenizer)
        output = self.outputs.pop(key, None) or Output(call.command)
        self.outputs[key] = output
        if len(self.outputs) > MOST_OUTPUTS:
            del self.outputs[next(iter(self.outputs))]
        return output

    def _count(self, group: Group, amounts: dict[str, int]) -> None:
        rows = self._rows_of.get(group)
        if rows is None:
            day, tokenizer, command, session = group
            rows = self._rows_of[group] = (
                self._row(day, tokenizer, "day", day),
                self._row(day, tokenizer, "command", command),
                self._row(day, tokenizer, "session", session or NO_SESSION),
            )
        for name, amount in amounts.items():
            position = POSITIONS[name]
            for row in rows:
                row[position] += amount

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

    def restore(self, key: RowKey, row: Row) -> None:
        """Put back a row that was stored."""
        self._names[key[:3]] = self._names.get(key[:3], 0) + 1
        self.rows[key] = row

    def outputs_without_total(self) -> list[tuple[str, str]]:
        """Return handle and tokenizer of the latest outputs with an unknown total."""
        return [key for key, output in self.outputs.items() if output.pending][-MOST_ASKED:]

    def settle(self, handle: str, tokenizer: str, total_tokens: int) -> None:
        """Use the total of a stdout that was counted after its run."""
        output = self.outputs[handle, tokenizer]
        output.total_tokens = total_tokens
        for group, pending in output.pending.items():
            withheld = pending.runs * total_tokens + pending.known_tokens
            saved = output.save(withheld - pending.show_tokens)
            self._count(group, {"withheld_tokens": withheld, "inexact_runs": -pending.runs, **saved})
        output.pending = {}

    def forget(self, handle: str, tokenizer: str) -> None:
        """Forget an output that is no longer stored. What it withheld stays unknown."""
        del self.outputs[handle, tokenizer]

    def days(self) -> set[str]:
        """Return every day that anything is known about."""
        pending = {group[0] for output in self.outputs.values() for group in output.pending}
        return {key[0] for key in self.rows} | set(self.broken) | pending

    def drop_days(self, days: Container[str]) -> None:
        """Remove all sums of these days."""
        self.rows = {key: row for key, row in self.rows.items() if key[0] not in days}
        self.broken = {day: number for day, number in self.broken.items() if day not in days}
        for output in self.outputs.values():
            kept = {group: pending for group, pending in output.pending.items() if group[0] not in days}
            output.pending = kept
        self._names, self._rows_of = {}, {}
        for key in self.rows:
            self._names[key[:3]] = self._names.get(key[:3], 0) + 1

    def selected(self, by: By, since: str) -> Iterator[tuple[str, str, Row]]:
        """Yield tokenizer, name and row from a day on. The same name may come more than once."""
        for (day, tokenizer, found_by, name), row in self.rows.items():
            if found_by == by and day >= since:
                yield tokenizer, name, row
