"""One value in the settings of an agent: in JSON, in TOML, or as a line of an `.env` file.

A value is ours if it names a file in the directory `tokcap` next to the settings. Another value under the
same key belongs to the user, and is never replaced.
"""

from __future__ import annotations

import os

from tokcap.errors import HookRefused
from tokcap.hooks import jsonc_edit
from tokcap.hooks.own_files import directory_for
from tokcap.hooks.settings_entry import member_of, object_in, parse_root
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Any

    from tokcap.hooks.jsonc import Node


def is_ours(path: str, value: object) -> bool:
    return isinstance(value, str) and os.path.dirname(value) == directory_for(path)


def taken(path: str, key: str, value: object) -> HookRefused:
    return HookRefused(f"{path}: {key} is {str(value)[:80]!r} already; remove it first")


class JsonValue(Record):
    """A string in a JSON object: at the top, or in an object of the top."""

    # One key or two.
    keys: tuple[str, ...]
    value: str = ""

    def find(self, path: str, text: str) -> str | None:
        holder = self.holder_in(path, parse_root(path, text))
        node = None if holder is None else member_of(path, holder, self.keys[-1])
        return str(node.value) if node is not None and is_ours(path, node.value) else None

    def added(self, path: str, text: str) -> str:
        if not text.strip():
            import json

            whole: object = self.value
            for key in reversed(self.keys):
                whole = {key: whole}
            return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
        root = parse_root(path, text)
        holder = self.holder_in(path, root)
        if holder is None:
            return jsonc_edit.with_element(text, root, self.keys[0], {self.keys[1]: self.value})
        node = member_of(path, holder, self.keys[-1])
        if node is not None:
            raise taken(path, ".".join(self.keys), node.plain())
        return jsonc_edit.with_element(text, holder, self.keys[-1], self.value)

    def cut(self, path: str, text: str) -> str:
        root = parse_root(path, text)
        holder = self.holder_in(path, root)
        assert holder
        if holder is not root and len(holder.keys()) == 1:
            return jsonc_edit.without_element(text, root, root.keys().index(self.keys[0]))
        return jsonc_edit.without_element(text, holder, holder.keys().index(self.keys[-1]))

    def holder_in(self, path: str, root: Node) -> Node | None:
        return root if len(self.keys) == 1 else object_in(path, root, self.keys[0])


class TomlValue(Record):
    """A string in a table of a TOML file. The table may be there already, with other keys."""

    table: tuple[str, ...]
    key: str
    value: str = ""

    def find(self, path: str, text: str) -> str | None:
        value = self.table_in(parsed_toml(path, text)).get(self.key)
        return value if isinstance(value, str) and is_ours(path, value) else None

    def added(self, path: str, text: str) -> str:
        whole = parsed_toml(path, text)
        table = self.table_in(whole)
        if self.key in table:
            raise taken(path, ".".join((*self.table, self.key)), table[self.key])
        newline = "\r\n" if "\r\n" in text else "\n"
        lines = text.splitlines(keepends=True)
        header = next((number for number, line in enumerate(lines) if self.is_header(line)), None)
        if header is None:
            gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
            changed = f"{text}{gap}[{'.'.join(self.table)}]{newline}{self.line()}{newline}"
        else:
            if not lines[header].endswith("\n"):
                lines[header] += newline
            changed = "".join([*lines[: header + 1], self.line() + newline, *lines[header + 1 :]])
        table[self.key] = self.value
        # A table can be written in ways that are not recognized here, and then the text would be wrong.
        if not self.is_in(whole) or parsed_toml(path, changed) != whole:
            raise HookRefused(
                f"{path}: the table {'.'.join(self.table)} is written in another way; add the line by hand"
            )
        return changed

    def cut(self, path: str, text: str) -> str:
        value = self.find(path, text)
        assert value is not None
        lines = text.splitlines(keepends=True)
        own = self.but(value=value).line()
        number = next((number for number, line in enumerate(lines) if line.rstrip("\r\n") == own), None)
        if number is None:
            raise HookRefused(f"{path}: the line of {self.key} was changed; remove it by hand")
        del lines[number]
        ends_table = (
            number == len(lines) or lines[number].lstrip().startswith("[") or not lines[number].strip()
        )
        if (
            ends_table
            and number
            and self.is_header(lines[number - 1])
            and len(self.table_in(parsed_toml(path, text))) == 1
        ):
            del lines[number - 1]
            if number > 1 and not lines[number - 2].strip():
                del lines[number - 2]
        return "".join(lines)

    def line(self) -> str:
        import json

        # A basic string of TOML has the escapes of JSON.
        return f"{self.key} = {json.dumps(self.value, ensure_ascii=False)}"

    def is_header(self, line: str) -> bool:
        return line.partition("#")[0].strip().replace(" ", "") == f"[{'.'.join(self.table)}]"

    def table_in(self, whole: dict[str, Any]) -> dict[str, Any]:
        """Return the table, or an empty one that is added to `whole` if that is possible."""
        for key in self.table:
            inner = whole.setdefault(key, {})
            if not isinstance(inner, dict):
                return {}
            whole = inner
        return whole

    def is_in(self, whole: dict[str, Any]) -> bool:
        return self.table_in(whole).get(self.key) == self.value


def parsed_toml(path: str, text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise HookRefused(f"{path}: not valid TOML ({error}); not changed") from None


class EnvLine(Record):
    """A line `NAME=VALUE` of an `.env` file."""

    name: str
    value: str = ""

    def find(self, path: str, text: str) -> str | None:
        values = [self.value_of(line) for line in text.splitlines()]
        return next((value for value in values if is_ours(path, value)), None)

    def added(self, path: str, text: str) -> str:
        for line in text.splitlines():
            if (value := self.value_of(line)) is not None:
                raise taken(path, self.name, value)
        newline = "\r\n" if "\r\n" in text else "\n"
        gap = newline if text.strip() and not text.endswith("\n") else ""
        return f"{text if text.strip() else ''}{gap}{self.name}={self.quoted()}{newline}"

    def cut(self, path: str, text: str) -> str:
        return "".join(
            line for line in text.splitlines(keepends=True) if not is_ours(path, self.value_of(line))
        )

    def quoted(self) -> str:
        plain = all(ch.isalnum() or ch in "/._-+@" for ch in self.value)
        return self.value if plain else f"'{self.value}'" if "'" not in self.value else f'"{self.value}"'

    def value_of(self, line: str) -> str | None:
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if not equals or name.strip() != self.name:
            return None
        value = value.strip()
        return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value
