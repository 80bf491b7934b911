"""Read the usage log, add it up by day, command or session, and show the sums: as text, or drawn.

A run withholds its total minus what it has shown; the total of a large output is an estimate. Each later
`show` of its output reduces what the run has saved, so a saving can be below zero.
"""

from __future__ import annotations

import io
import os
import time
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import orjson

from tokcap.core.units import count_of, printable
from tokcap.errors import PackageMissing, StoreError, StreamError, UsageError
from tokcap.startup.record import Record
from tokcap.system import private_files as private
from tokcap.usage import DAY_SECONDS, DIRECTORY, SUFFIX, day_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment

By: TypeAlias = Literal["day", "command", "session"]

READ_BYTES = 8 << 20
# No size or count comes near this number; a larger one is damage.
TOO_LARGE = 1 << 60
NO_SESSION = "(none)"
UNKNOWN = "(unknown)"

COLUMNS = ("runs", "shown", "withheld", "saved")
LONGEST_NAME = 24
LONGEST_TOKENIZER = 40

FORMATS = (".png", ".svg")
MOST_BARS = 30
# As much room as this many bars need, even for fewer.
LEAST_PLACES = 12


class LoggedCall(NamedTuple):
    """One call as logged. Not a `Record`, because there may be many thousands."""

    day: str
    kind: str
    tokenizer: str
    # Empty for a `show` of an output whose command was not stored.
    command: str
    session: str
    handle: str
    # None: not counted.
    shown_tokens: int | None
    total_tokens: int | None
    is_estimated: bool


class Row:
    """The sums of a day, a command or a session, counted with one tokenizer."""

    def __init__(self, tokenizer: str, name: str = "") -> None:
        self.tokenizer, self.name = tokenizer, name
        self.runs = self.shows = self.shown_tokens = self.withheld_tokens = self.saved_tokens = 0
        # Runs whose output was passed on and never counted, and runs whose total is an estimate.
        self.uncounted_runs = self.estimated_runs = 0

    def numbers(self) -> dict[str, int]:
        return {name: value for name, value in self.__dict__.items() if isinstance(value, int)}

    def add(self, other: Row) -> None:
        for name, amount in other.numbers().items():
            self.__dict__[name] += amount


class Report(Record):
    """What `tokcap stats` shows. Tokens of different tokenizers are never added up."""

    by: By
    since: str
    # One for each tokenizer, the most used first.
    totals: list[Row]
    # Days in order, commands and sessions by how much they saved or lost.
    rows: list[Row]
    broken_lines: int


class Sums:
    """The rows of a report while lines are added to them."""

    def __init__(self, by: By, since: str) -> None:
        self._by, self._since = by, since
        self._rows: dict[tuple[str, str], Row] = {}
        # The command of the first run of each stored output: the line of a `show` may not have it.
        self._commands: dict[str, str] = {}
        self.broken_lines = 0

    def add(self, call: LoggedCall) -> None:
        is_run = call.kind == "run"
        if is_run:
            self._commands.setdefault(call.handle, call.command)
        if call.day < self._since:
            return
        row = self._row_of(call)
        row.runs += is_run
        row.shows += not is_run
        if call.shown_tokens is None or (is_run and call.total_tokens is None):
            row.uncounted_runs += is_run
            return
        row.shown_tokens += call.shown_tokens
        if not is_run or call.total_tokens is None:
            row.saved_tokens -= call.shown_tokens
            return
        row.withheld_tokens += call.total_tokens - call.shown_tokens
        row.saved_tokens += call.total_tokens - call.shown_tokens
        row.estimated_runs += call.is_estimated

    def report(self) -> Report:
        """Return the sums of all lines."""
        totals: dict[str, Row] = {}
        for row in self._rows.values():
            totals.setdefault(row.tokenizer, Row(row.tokenizer)).add(row)
        used = sorted(totals.values(), key=lambda row: (-row.runs, row.tokenizer))
        rows = sorted(self._rows.values(), key=lambda row: (row.name, row.tokenizer))
        if self._by != "day":
            rows.sort(key=lambda row: (-abs(row.saved_tokens), -row.runs))
        return Report(self._by, self._since, used, rows, self.broken_lines)

    def _row_of(self, call: LoggedCall) -> Row:
        name = {
            "day": call.day,
            "command": call.command or self._commands.get(call.handle) or UNKNOWN,
            "session": call.session or NO_SESSION,
        }[self._by]
        return self._rows.setdefault((call.tokenizer, name), Row(call.tokenizer, name))


def read_report(env: Environment, by: By, since: str) -> Report:
    """Read all lines, and add up those from a day on. The commands of `show` calls may be in earlier runs."""
    directory = os.path.join(env.data_dir(), DIRECTORY)
    for path in (env.data_dir(), directory):
        if os.path.lexists(path) and not private.is_own_directory(path):
            raise StoreError(f"{path} is a symlink or not owned by you; set TOKCAP_DATA_DIR to another")
    sums = Sums(by, since)
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        names = []
    for name in names:
        day = name.removesuffix(SUFFIX)
        if day != name and is_day(day):
            for line in lines_in(os.path.join(directory, name)):
                call = read_line(day, line)
                if call is not None:
                    sums.add(call)
                elif day >= since:
                    sums.broken_lines += 1
    return sums.report()


def saved_in(session: str, env: Environment) -> int:
    """Return how many tokens fewer were shown in a session than its outputs had."""
    rows = read_report(env, "session", "").rows
    return max(sum(row.saved_tokens for row in rows if row.name == session), 0)


def lines_in(path: str) -> Iterator[bytes]:
    """Yield the complete lines of a file. The last one may still be being written."""
    try:
        file = private.open_file(path)
    except FileNotFoundError:
        return
    begin, rest = 0, b""
    try:
        while block := os.pread(file, READ_BYTES, begin):
            begin += len(block)
            *lines, rest = (rest + block).split(b"\n")
            yield from filter(None, lines)
    except OSError as error:
        raise private.refused(path, error) from None
    finally:
        os.close(file)


def read_line(day: str, raw: bytes) -> LoggedCall | None:
    """Read one line; None if any of its values is missing or impossible."""
    try:
        fields: Any = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    if type(fields) is not dict:
        return None
    names = [fields.get(name, "") for name in ("kind", "tokenizer", "command", "session", "handle")]
    shown, total, estimate = counts = [fields.get(name) for name in ("shown", "total", "estimate")]
    if {*map(type, names)} != {str} or names[0] not in ("run", "show") or not names[1]:
        return None
    numbers = [number for number in counts if number is not None]
    if any(type(number) is not int or not 0 <= number < TOO_LARGE for number in numbers):
        return None
    total, is_estimated = (estimate, True) if total is None else (total, False)
    kind, tokenizer, command, session, handle = names
    if not command and kind == "run":
        return None
    return LoggedCall(day, kind, tokenizer, command, session, handle, shown, total, is_estimated)


def day_before(now: float, days: int) -> str:
    """Return the day that is this many days before today, not before 1970."""
    today = time.localtime(now)
    # By the calendar, because a day has 23 or 25 hours when clocks change.
    back = min(days, int(max(now, 0) / DAY_SECONDS))
    return day_of(time.mktime((today.tm_year, today.tm_mon, today.tm_mday - back, 12, 0, 0, 0, 0, -1)))


def is_day(name: str) -> bool:
    """Return whether a text is a day such as `2026-11-16`."""
    try:
        time.strptime(name, "%Y-%m-%d")
    except ValueError:
        return False
    return len(name) == 10


def report_text(report: Report) -> str:
    """Return the report as text: sentences and a table for each tokenizer."""
    lines: list[str] = []
    for total in report.totals:
        lines += ["", *sentences(total, report), ""]
        lines += table([row for row in report.rows if row.tokenizer == total.tokenizer], report.by)
    if report.broken_lines:
        lines += ["", f"skipped in the usage log: {count_of(report.broken_lines, 'damaged line')}"]
    return "".join(f"{line}\n" for line in lines[1:])


def sentences(total: Row, report: Report) -> Iterator[str]:
    """Yield the summary for one tokenizer."""
    since = f" since {report.since}" if report.since else ""
    calls = f"{count_of(total.runs, 'run')}, {count_of(total.shows, 'show call')}{since}"
    yield f"{calls}, counted with {printable(total.tokenizer, LONGEST_TOKENIZER)}"
    about = "about " if total.estimated_runs else ""
    saved = f"withheld {about}{total.withheld_tokens:,}, saved {about}{total.saved_tokens:,}"
    yield f"shown {total.shown_tokens:,}, {saved}"
    if total.estimated_runs:
        yield f"estimated: the totals of {count_of(total.estimated_runs, 'run')} with a large output"
    if total.uncounted_runs:
        yield f"not counted: {count_of(total.uncounted_runs, 'run')}; not included in any sum"


def table(rows: list[Row], by: str) -> Iterator[str]:
    """Yield a heading, and a line for each row."""
    names = [by, *(printable(row.name, LONGEST_NAME) for row in rows)]
    cells = {name: [name, *(f"{cell_of(row, name):,}" for row in rows)] for name in COLUMNS}
    widths = {name: max(map(len, column)) for name, column in cells.items()}
    name_width = max(map(len, names))
    for number, name in enumerate(names):
        numbers = "".join("  " + cells[column][number].rjust(widths[column]) for column in cells)
        line = name.ljust(name_width) + numbers
        yield line if number else line.upper()


def cell_of(row: Row, column: str) -> int:
    return row.numbers()["runs" if column == "runs" else f"{column}_tokens"]


def format_of(path: str) -> str:
    """Return the picture format that a file name asks for. Refuse others, and all without matplotlib."""
    ending = path.lower()[-4:]
    if ending not in FORMATS:
        raise UsageError(f"--plot: {path!r} must end in .png or .svg")
    try:
        import matplotlib  # noqa: F401  # only to find out whether it is installed
    except ImportError:
        from tokcap.system.installation import command_to_add

        needed = "--plot needs matplotlib, which is not installed"
        raise PackageMissing(f"{needed}; run: {command_to_add('plot')}") from None
    return ending[1:]


def draw(report: Report, path: str) -> None:
    """Draw the table of the tokenizer that was used most: tokens shown, and saved on top, or lost below 0."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.ticker import StrMethodFormatter

    tokenizer = report.totals[0].tokenizer
    rows = [row for row in report.rows if row.tokenizer == tokenizer]
    rows = rows[-MOST_BARS:] if report.by == "day" else rows[:MOST_BARS]
    places, shown = range(len(rows)), [row.shown_tokens for row in rows]
    # Keep text in an SVG as text, and make the same picture from the same report.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "tokcap"}):
        figure = Figure(figsize=(9, 3.2), layout="constrained")
        axes = figure.subplots()
        axes.bar(places, shown, color="#8a8a8a", label="shown")
        axes.bar(
            places, [max(row.saved_tokens, 0) for row in rows], bottom=shown, color="#2a7f4f", label="saved"
        )
        axes.bar(places, [min(row.saved_tokens, 0) for row in rows], color="#b03030", label="lost")
        # Few bars are not wider than many.
        axes.set_xlim(-0.6, max(len(rows), LEAST_PLACES) - 0.4)
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        # A dollar sign would start a formula.
        names = [printable(row.name, LONGEST_NAME).replace("$", r"\$") for row in rows]
        axes.set_xticks(places, names, rotation=45, ha="right", fontsize=8)
        axes.set_ylabel(f"tokens ({printable(tokenizer, LONGEST_TOKENIZER)})", fontsize=8)
        axes.set_title(f"by {report.by}", loc="left", fontsize=10)
        # Above the chart, where no bar is.
        axes.legend(fontsize=8, ncols=3, frameon=False, loc="lower right", bbox_to_anchor=(1, 1))
        picture = io.BytesIO()
        kind = format_of(path)
        figure.savefig(picture, format=kind, metadata={"Date": None} if kind == "svg" else None)
    try:
        with open(path, "wb") as file:
            file.write(picture.getvalue())
    except OSError as error:
        raise StreamError(f"--plot: cannot write {path}: {error.strerror}") from None
