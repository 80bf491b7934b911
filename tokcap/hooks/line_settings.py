"""Additions to settings that are written in lines: TOML, and `.env` files.

Whole lines are inserted, and exactly these lines are removed again. TOML is read by `tomllib`: an edit that
means anything but our addition is refused.
"""

from __future__ import annotations

import json
import os
import tomllib

from tokcap.hooks.json_settings import is_own_command
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


class TomlValue(Record):
    """The path of a file of ours, in a table that may be there already."""

    table: tuple[str, ...]
    key: str
    value: str = ""

    def find(self, text: str) -> str | None:
        value = table_in(parsed_toml(text), self.table).get(self.key)
        is_ours = isinstance(value, str) and os.path.dirname(value) == os.path.dirname(self.value)
        return value if is_ours else None

    def added(self, text: str) -> str:
        whole = parsed_toml(text)
        table = table_in(whole, self.table)
        if self.key in table:
            name = ".".join((*self.table, self.key))
            raise ValueError(f"{name} is {str(table[self.key])[:80]!r} already; remove it first")
        lines = [line.partition("#")[0].strip().replace(" ", "") for line in text.splitlines()]
        if self.header() in lines:
            changed = with_lines(text, lines.index(self.header()) + 1, [self.line()])
        else:
            changed = with_lines(text, len(lines), [*gap(text), self.header(), self.line()])
        table[self.key] = self.value
        # A table can be written in ways that are not recognized here, and then the text would be wrong.
        if self.find(changed) != self.value or parsed_toml(changed) != whole:
            raise ValueError(f"the table {'.'.join(self.table)} is written in another way; add it by hand")
        return changed

    def cut(self, text: str) -> str:
        alone = len(table_in(parsed_toml(text), self.table)) == 1
        with_table = without_lines(text, [self.header(), self.line()]) if alone else None
        return with_table or needed(without_lines(text, [self.line()]), f"the line of {self.key}")

    def header(self) -> str:
        return f"[{'.'.join(self.table)}]"

    def line(self) -> str:
        # A basic string of TOML has the escapes of JSON.
        return f"{self.key} = {json.dumps(self.value, ensure_ascii=False)}"


class TomlTable(Record):
    """A table with a command, in an array of tables at the end of the file: `[[hooks]]`."""

    agent: str
    # The name of the array.
    array: str
    # What else is in the table, before the command.
    rest: Mapping[str, str | int]
    # The command.
    value: str = ""

    def find(self, text: str) -> str | None:
        table = self.own_table(text)
        return str(table["command"]) if table else None

    def own_table(self, text: str) -> dict[str, Any] | None:
        tables = parsed_toml(text).get(self.array, [])
        if not isinstance(tables, list):
            raise ValueError(f"{self.array} is not an array of tables")
        ours = (table for table in tables if isinstance(table, dict))
        return next((table for table in ours if is_own_command(table.get("command"), self.agent)), None)

    def added(self, text: str) -> str:
        parsed_toml(text)
        new = self.lines({**self.rest, "command": self.value})
        changed = with_lines(text, len(text.splitlines()), [*gap(text), *new])
        try:
            parsed_toml(changed)
        except ValueError:
            raise ValueError(f"{self.array} is written in another way; add the hook by hand") from None
        return changed

    def cut(self, text: str) -> str:
        return needed(without_lines(text, self.lines(self.own_table(text) or {})), "the entry of tokcap")

    def lines(self, table: Mapping[str, Any]) -> list[str]:
        values = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items()]
        return [f"[[{self.array}]]", *values]


class EnvLine(Record):
    """A line `NAME=PATH` of an `.env` file, with the path of a file of ours."""

    name: str
    value: str = ""

    def find(self, text: str) -> str | None:
        values = [value for line in text.splitlines() if (value := self.value_of(line)) is not None]
        return next(
            (value for value in values if os.path.dirname(value) == os.path.dirname(self.value)), None
        )

    def added(self, text: str) -> str:
        for line in text.splitlines():
            if (value := self.value_of(line)) is not None:
                raise ValueError(f"{self.name} is {value[:80]!r} already; remove it first")
        return with_lines(text, len(text.splitlines()), [f"{self.name}={self.quoted()}"])

    def cut(self, text: str) -> str:
        lines = text.splitlines(keepends=True)
        return "".join(line for line in lines if self.value_of(line) != self.value)

    def quoted(self) -> str:
        is_plain = all(ch.isalnum() or ch in "/._-+@" for ch in self.value)
        return self.value if is_plain else f"'{self.value}'" if "'" not in self.value else f'"{self.value}"'

    def value_of(self, line: str) -> str | None:
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if not equals or name.strip() != self.name:
            return None
        return without_quotes(value.strip())


def with_lines(text: str, at: int, new: Sequence[str]) -> str:
    """Return the text with lines inserted before the line with this number."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True) if text.strip() else []
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += newline
    return "".join([*lines[:at], *(line + newline for line in new), *lines[at:]])


def without_lines(text: str, old: Sequence[str]) -> str | None:
    """Return the text without exactly these lines and a blank one before several; None if it has them not."""
    lines = text.splitlines(keepends=True)
    plain = [line.rstrip("\r\n") for line in lines]
    for start in range(len(lines)):
        if plain[start : start + len(old)] == [*old]:
            has_gap = len(old) > 1 and start > 0 and not plain[start - 1].strip()
            return "".join([*lines[: start - has_gap], *lines[start + len(old) :]])
    return None


def needed(text: str | None, what: str) -> str:
    if text is None:
        raise ValueError(f"{what} was changed; remove it by hand")
    return text


def gap(text: str) -> list[str]:
    """Return the blank line between a text and what follows it."""
    return [""] if text.strip() else []


def table_in(whole: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return a table; an empty one, added to `whole` if that is possible, if there is none."""
    for name in names:
        found = whole.setdefault(name, {})
        if not isinstance(found, dict):
            return {}
        whole = found
    return whole


def parsed_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"not valid TOML ({error})") from None


def without_quotes(text: str) -> str:
    """Return a scalar without its quotes."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text
