"""An entry in an array of tables of a TOML file: `[[hooks]]` with the command that an agent runs."""

from __future__ import annotations

from tokcap.errors import HookRefused
from tokcap.hooks.settings_value import parsed_toml
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class TomlTable(Record):
    """An addition to settings: a table with a command, at the end of the file."""

    agent: str
    # The name of the array.
    array: str
    # What else is in the table, before the command.
    rest: Mapping[str, str | int]
    # The command.
    value: str = ""

    def find(self, path: str, text: str) -> str | None:
        tables = parsed_toml(path, text).get(self.array, [])
        if not isinstance(tables, list):
            raise HookRefused(f"{path}: {self.array} is not an array of tables; not changed")
        commands = [table.get("command") for table in tables if isinstance(table, dict)]
        return next((command for command in commands if self.is_ours(command)), None)

    def added(self, path: str, text: str) -> str:
        import json

        newline = "\r\n" if "\r\n" in text else "\n"
        gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
        values = {**self.rest, "command": self.value}
        # A basic string of TOML has the escapes of JSON.
        lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
        changed = text + gap + "".join(f"{line}{newline}" for line in (f"[[{self.array}]]", *lines))
        try:
            parsed_toml(path, changed)
        except HookRefused:
            parsed_toml(path, text)
            raise HookRefused(
                f"{path}: {self.array} is written in another way; add the hook by hand"
            ) from None
        return changed

    def cut(self, path: str, text: str) -> str:
        lines = text.splitlines(keepends=True)
        for start, line in enumerate(lines):
            if not self.is_header(line):
                continue
            end = next(
                (n for n in range(start + 1, len(lines)) if lines[n].lstrip().startswith("[")), len(lines)
            )
            try:
                table = parsed_toml(path, "".join(lines[start:end]))
            except HookRefused:
                # A line that starts with a bracket is part of a value.
                continue
            if self.is_ours(table[self.array][0].get("command")):
                while end > start + 1 and not lines[end - 1].strip() and end < len(lines):
                    end -= 1
                if start and not lines[start - 1].strip():
                    start -= 1
                return "".join([*lines[:start], *lines[end:]])
        raise HookRefused(f"{path}: the entry of tokcap was changed; remove it by hand")

    def is_header(self, line: str) -> bool:
        return line.partition("#")[0].strip().replace(" ", "") == f"[[{self.array}]]"

    def is_ours(self, command: Any) -> bool:
        program, _, rest = str(command).partition(" hook run ")
        return program.strip("'\"").endswith("tokcap") and rest.split()[:1] == [self.agent]
