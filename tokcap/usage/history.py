"""The usage history of one data directory: the sums in `sums.json`, and the log lines written since."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import orjson

from tokcap.errors import StoreError
from tokcap.system import private_files as private
from tokcap.usage.log_reader import read_lines
from tokcap.usage.sums import FIELDS, Output, Pending, Sums
from tokcap.usage.usage_log import DAY_SECONDS, DIRECTORY, LARGEST_DAY_BYTES, SUFFIX, day_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment

SUMS_FILE = "sums.json"
SCHEMA_VERSION = 1
LARGEST_SUMS_BYTES = 256 << 20
# Log lines are kept for `usage_log.KEEP_DAYS`, their sums for longer.
KEEP_DAYS = 400
READ_BYTES = 8 << 20


class UsageHistory:
    """Everything that is known about the calls so far."""

    def __init__(self, env: Environment) -> None:
        self._data_dir = env.data_dir()
        self._directory = os.path.join(self._data_dir, DIRECTORY)
        self._now = env.now()
        self.sums = Sums()
        # How far each day's file is part of the sums, in bytes.
        self._read_to: dict[str, int] = {}
        # Days whose file is full, so that later calls are missing.
        self.full_days: list[str] = []

    def read(self) -> bool:
        """Read the stored sums, then the new log lines. Return whether there were new ones."""
        for path in (self._data_dir, self._directory):
            if os.path.lexists(path) and not private.is_own_directory(path):
                raise StoreError(f"{path} is a symlink or not owned by you; set TOKCAP_DATA_DIR to another")
        self._load()
        has_new_lines = False
        for day, size in sorted(self._days()):
            begin = self._read_to.get(day, 0)
            if size < begin:
                # The file got shorter: add it up from its start.
                self.sums.drop_days({day})
                begin = 0
            if size > begin:
                self._read_to[day] = self._add_lines(day, begin)
                has_new_lines = True
        return has_new_lines

    def _days(self) -> Iterator[tuple[str, int]]:
        """Yield each day that has a file, and the size of the file."""
        try:
            with os.scandir(self._directory) as found:
                files = [(file.name, file.stat(follow_symlinks=False).st_size) for file in found]
        except OSError:
            return
        for name, size in files:
            day = name.removesuffix(SUFFIX)
            if day != name and is_day(day):
                if size >= LARGEST_DAY_BYTES:
                    self.full_days.append(day)
                yield day, size

    def _add_lines(self, day: str, begin: int) -> int:
        """Add the lines of a day from a position on. Return the position after the last complete line."""
        path = os.path.join(self._directory, day + SUFFIX)
        try:
            file = private.open_file(path)
        except FileNotFoundError:
            return begin
        rest = b""
        try:
            while block := os.pread(file, READ_BYTES, begin + len(rest)):
                complete, newline, rest = (rest + block).rpartition(b"\n")
                for call in read_lines(complete):
                    self.sums.add(day, call)
                begin += len(complete) + len(newline)
        except OSError as error:
            raise private.refused(path, error) from None
        finally:
            os.close(file)
        return begin

    def _load(self) -> None:
        """Load the stored sums. If they are damaged, they are made again from the lines that still exist."""
        try:
            stored = orjson.loads(private.read_file(self._path, LARGEST_SUMS_BYTES))
            if stored["schema_version"] != SCHEMA_VERSION:
                return
            sums = Sums()
            for day, tokenizer, by, name, *numbers in stored["rows"]:
                expect(str, day, tokenizer, by, name)
                expect(int, *numbers)
                if len(numbers) != len(FIELDS):
                    return
                sums.restore((day, tokenizer, by, name), numbers)
            for handle, tokenizer, command, saved, total, waiting in stored["outputs"]:
                expect(str, handle, tokenizer, command)
                expect(int, saved, *([] if total is None else [total]))
                output = sums.outputs[handle, tokenizer] = Output(command, saved, total)
                for (day, counted_by, run, session), (runs, known, shown) in waiting:
                    expect(str, day, counted_by, run, session)
                    expect(int, runs, known, shown)
                    output.pending[day, counted_by, run, session] = Pending(runs, known, shown)
            sums.broken, read_to = stored["broken"], stored["read_to"]
            expect(dict, sums.broken, read_to)
            expect(int, *sums.broken.values(), *read_to.values())
            if min(read_to.values(), default=0) < 0:
                return
            self.sums, self._read_to = sums, read_to
        except (FileNotFoundError, StoreError, ValueError, TypeError, KeyError, AttributeError):
            return

    def save(self) -> None:
        """Store the sums. If that fails, the next call reads the same lines again."""
        oldest = day_of(self._now - KEEP_DAYS * DAY_SECONDS)
        self.sums.drop_days({day for day in self.sums.days() if day < oldest})
        stored = {
            "schema_version": SCHEMA_VERSION,
            "read_to": {day: position for day, position in self._read_to.items() if day >= oldest},
            "broken": self.sums.broken,
            "rows": [[*key, *row] for key, row in self.sums.rows.items()],
            "outputs": [
                [
                    *key,
                    output.command,
                    output.saved_tokens,
                    output.total_tokens,
                    [
                        [group, [pending.runs, pending.known_tokens, pending.show_tokens]]
                        for group, pending in output.pending.items()
                    ],
                ]
                for key, output in self.sums.outputs.items()
            ],
        }
        try:
            private.replace_file(self._path, orjson.dumps(stored))
        except StoreError:
            pass

    @property
    def _path(self) -> str:
        return os.path.join(self._directory, SUMS_FILE)


def expect(kind: type, *values: object) -> None:
    """Raise `ValueError` unless all values have this type. The file may contain anything."""
    if {*map(type, values)} - {kind}:
        raise ValueError("a stored value has the wrong type")


def day_before(now: float, days: int) -> str:
    """Return the day that is this many days before today, not before 1970."""
    today = time.localtime(now)
    # By the calendar, because a day has 23 or 25 hours when clocks change.
    back = min(days, int(max(now, 0) / DAY_SECONDS))
    return day_of(time.mktime((today.tm_year, today.tm_mon, today.tm_mday - back, 12, 0, 0, 0, 0, -1)))


def is_day(name: str) -> bool:
    """Whether a text is a day such as `2026-11-16`."""
    try:
        time.strptime(name, "%Y-%m-%d")
    except ValueError:
        return False
    return len(name) == 10
