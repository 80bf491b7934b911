"""The files of the account: sums as they were stored, and the lines that have come since."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import orjson

from tokcap.errors import StoreError
from tokcap.system import private_files as private
from tokcap.usage.lines import lines_of
from tokcap.usage.sums import FIELDS, Output, Sums, Waiting
from tokcap.usage.usage_log import DAY_SECONDS, DIRECTORY, LARGEST_DAY_BYTES, SUFFIX, day_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment

SUMS = "sums.json"
SCHEMA_VERSION = 1
LARGEST_SUMS_BYTES = 256 << 20
# Lines are kept 90 days (see `account`), sums so many.
KEEP_DAYS = 400
READ_BYTES = 8 << 20


class Book:
    """The account of one data directory."""

    def __init__(self, env: Environment) -> None:
        self._data_dir = env.data_dir()
        self._directory = os.path.join(self._data_dir, DIRECTORY)
        self._now = env.now()
        self.sums = Sums()
        # Up to where each day's file is part of the sums.
        self._read_to: dict[str, int] = {}
        # Days whose file is full: what came later is missing.
        self.full: list[str] = []

    def read(self) -> bool:
        """Take up what is stored, then what has come since; whether there was anything new."""
        for path in (self._data_dir, self._directory):
            if os.path.lexists(path) and not private.is_own_directory(path):
                raise StoreError(f"{path} is no directory of yours, or a link; set TOKCAP_DATA_DIR to one")
        self._load()
        fresh = False
        for day, size in sorted(self._days()):
            begin = self._read_to.get(day, 0)
            if size < begin:
                # Somebody has shortened it: it is counted anew.
                self.sums.drop_days(lambda dropped, day=day: dropped == day)  # type: ignore[misc]
                begin = 0
            if size > begin:
                self._read_to[day] = self._read_lines(day, begin)
                fresh = True
        return fresh

    def _days(self) -> Iterator[tuple[str, int]]:
        """The days that have a file, with its size."""
        try:
            with os.scandir(self._directory) as found:
                files = [(file.name, file.stat(follow_symlinks=False).st_size) for file in found]
        except OSError:
            return
        for name, size in files:
            day = name.removesuffix(SUFFIX)
            if day != name and is_day(day):
                if size >= LARGEST_DAY_BYTES:
                    self.full.append(day)
                yield day, size

    def _read_lines(self, day: str, begin: int) -> int:
        """Count the lines of a day from a place on; returns the place behind the last whole one."""
        path = os.path.join(self._directory, day + SUFFIX)
        try:
            file = private.open_file(path)
        except FileNotFoundError:
            return begin
        rest = b""
        try:
            while block := os.pread(file, READ_BYTES, begin + len(rest)):
                whole, newline, rest = (rest + block).rpartition(b"\n")
                for line in lines_of(whole):
                    self.sums.add(day, line)
                begin += len(whole) + len(newline)
        except OSError as error:
            raise private.refused(path, error) from None
        finally:
            os.close(file)
        return begin

    def _load(self) -> None:
        """Sums that cannot be read are made again from the lines that are still there."""
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
                for (day, counted_by, run, session), (runs, known, later) in waiting:
                    expect(str, day, counted_by, run, session)
                    expect(int, runs, known, later)
                    output.waiting[day, counted_by, run, session] = Waiting(runs, known, later)
            sums.broken, read_to = stored["broken"], stored["read_to"]
            expect(dict, sums.broken, read_to)
            expect(int, *sums.broken.values(), *read_to.values())
            if min(read_to.values(), default=0) < 0:
                return
            self.sums, self._read_to = sums, read_to
        except (FileNotFoundError, StoreError, ValueError, TypeError, KeyError, AttributeError):
            return

    def save(self) -> None:
        """Store the sums. Where that cannot be done, the same lines are read again next time."""
        oldest = day_of(self._now - KEEP_DAYS * DAY_SECONDS)
        self.sums.drop_days(lambda day: day < oldest)
        stored = {
            "schema_version": SCHEMA_VERSION,
            "read_to": {day: place for day, place in self._read_to.items() if day >= oldest},
            "broken": self.sums.broken,
            "rows": [[*key, *row] for key, row in self.sums.rows.items()],
            "outputs": [
                [
                    *key,
                    output.command,
                    output.saved,
                    output.total,
                    [
                        [words, [waiting.runs, waiting.known, waiting.later]]
                        for words, waiting in output.waiting.items()
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
        return os.path.join(self._directory, SUMS)


def expect(kind: type, *values: object) -> None:
    """Whatever the file has been through: `ValueError` for a value of another kind."""
    if {*map(type, values)} - {kind}:
        raise ValueError("it makes no sense")


def day_before(now: float, days: int) -> str:
    """The day so many days before today; none before 1970."""
    today = time.localtime(now)
    # By the calendar: where clocks are changed, a day has 23 hours or 25.
    back = min(days, int(max(now, 0) / DAY_SECONDS))
    return day_of(time.mktime((today.tm_year, today.tm_mon, today.tm_mday - back, 12, 0, 0, 0, 0, -1)))


def is_day(name: str) -> bool:
    """Whether it is written as a day is."""
    try:
        time.strptime(name, "%Y-%m-%d")
    except ValueError:
        return False
    return len(name) == 10
