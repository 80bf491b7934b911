"""One item in a list of a YAML file, below two keys: `plugins: {enabled: [ITEM]}` in the block style.

This is not a YAML parser. It reads and changes what people and agents write there: keys at the top and one
level below, and a list of plain items in either style. Anything else is refused.
"""

from __future__ import annotations

import re

from tokcap.errors import HookRefused
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

KEY = re.compile(r"""( *)(["']?)([\w.-]+)\2 *:(?: +(.*))?""")
ITEM = re.compile(r"( *)- +(.*)")
COMMENT = re.compile(r"(?:^|\s)#.*")


class Block(Record):
    """A key with the lines that belong to it: `lines[start]` has the key, `end` is the first line after."""

    start: int
    end: int
    indent: int
    # What stands behind the key in its line.
    value: str


class YamlItem(Record):
    """An addition to settings: an item of the list below two keys."""

    keys: tuple[str, str]
    value: str = ""

    def find(self, path: str, text: str) -> str | None:
        lines = lines_of(path, text)
        return self.value if self.value in items_of(path, lines, list_in(path, lines, self.keys)) else None

    def added(self, path: str, text: str) -> str:
        lines = lines_of(path, text)
        newline = "\r\n" if "\r\n" in text else "\n"
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += newline
        top = block_in(path, lines, self.keys[0], 0, len(lines), 0)
        found = list_in(path, lines, self.keys)
        if top is None:
            lines += [
                f"{self.keys[0]}:{newline}",
                f"  {self.keys[1]}:{newline}",
                f"    - {self.value}{newline}",
            ]
        elif found is None:
            if top.value:
                raise another_way(path, self.keys[0])
            margin = " " * (child_indent(lines, top) or 2)
            new = [f"{margin}{self.keys[1]}:{newline}", f"{margin}  - {self.value}{newline}"]
            lines[top.start + 1 : top.start + 1] = new
        elif found.value:
            # Refuses what is not a list.
            items_of(path, lines, found)
            lines[found.start] = with_flow_item(lines[found.start], self.value)
        else:
            places = item_places(lines, found)
            margin = ITEM.match(lines[places[-1]])[1] if places else " " * (found.indent + 2)  # type: ignore[index]  # places have items
            at = places[-1] + 1 if places else found.start + 1
            lines.insert(at, f"{margin}- {self.value}{newline}")
        return "".join(lines)

    def cut(self, path: str, text: str) -> str:
        lines = lines_of(path, text)
        found = list_in(path, lines, self.keys)
        assert found
        if found.value:
            lines[found.start] = without_flow_item(lines[found.start], self.value)
            return "".join(lines)
        places = item_places(lines, found)
        own = [place for place in places if plain(item_text(lines[place])) == self.value]
        gone = set(own)
        if len(own) == len(places):
            # The list would be empty, and with it perhaps the key above.
            gone.add(found.start)
            top = block_in(path, lines, self.keys[0], 0, len(lines), 0)
            assert top
            if all(
                number in gone or not without_comment(lines[number])
                for number in range(top.start + 1, top.end)
            ):
                gone.add(top.start)
        return "".join(line for number, line in enumerate(lines) if number not in gone)


def items_in(path: str, keys: tuple[str, str]) -> list[str]:
    """Return the items of a list in a file; none if they cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = lines_of(path, file.read())
        return items_of(path, lines, list_in(path, lines, keys))
    except (OSError, HookRefused):
        return []


def lines_of(path: str, text: str) -> list[str]:
    """Return the lines of a file that is one mapping in the block style."""
    lines = text.splitlines(keepends=True)
    plain_lines = [without_comment(line) for line in lines]
    marks = [number for number, line in enumerate(plain_lines) if line in ("---", "...")]
    contents = [line for line in plain_lines if line and line != "---"]
    several = len(marks) > 1 or any(any(plain_lines[:number]) for number in marks)
    if several or (contents and not KEY.fullmatch(contents[0])):
        raise HookRefused(f"{path}: not one mapping with a key in each line; not changed")
    if any(line.startswith("\t") for line in plain_lines):
        raise HookRefused(f"{path}: not valid YAML (a tab at the start of a line); not changed")
    return lines


def list_in(path: str, lines: Sequence[str], keys: tuple[str, str]) -> Block | None:
    """Return the block of the list, or None if one of its keys is missing."""
    top = block_in(path, lines, keys[0], 0, len(lines), 0)
    if top is None or (indent := child_indent(lines, top)) is None:
        if top is not None and top.value not in ("", "{}", "null", "~"):
            raise another_way(path, keys[0])
        return None
    if top.value:
        raise another_way(path, keys[0])
    return block_in(path, lines, keys[1], top.start + 1, top.end, indent)


def block_in(path: str, lines: Sequence[str], key: str, start: int, end: int, indent: int) -> Block | None:
    """Return the block of a key with an indent, between two lines."""
    found: Block | None = None
    for number in range(start, end):
        line = without_comment(lines[number])
        match = KEY.fullmatch(line)
        if not match or len(match[1]) != indent or match[3] != key:
            continue
        if found is not None:
            raise HookRefused(f"{path}: the key {key} is there twice; not changed")
        found = Block(number, block_end(lines, number + 1, end, indent), indent, (match[4] or "").strip())
    return found


def block_end(lines: Sequence[str], start: int, end: int, indent: int) -> int:
    """Return where a block with an indent ends. Items of its list may have the same indent as its key."""
    last = start
    for number in range(start, end):
        line = without_comment(lines[number])
        if not line:
            continue
        margin = len(line) - len(line.lstrip(" "))
        if margin < indent or (margin == indent and not line.lstrip(" ").startswith("- ")):
            break
        last = number + 1
    return last


def child_indent(lines: Sequence[str], block: Block) -> int | None:
    """Return the indent of what is below a key, or None if nothing is."""
    for number in range(block.start + 1, block.end):
        if line := without_comment(lines[number]):
            return len(line) - len(line.lstrip(" "))
    return None


def items_of(path: str, lines: Sequence[str], block: Block | None) -> list[str]:
    if block is None:
        return []
    if not block.value:
        return [plain(item_text(lines[place])) for place in item_places(lines, block)]
    if not (block.value.startswith("[") and block.value.endswith("]")):
        raise another_way(path, "the list")
    return [plain(part) for part in block.value[1:-1].split(",") if part.strip()]


def item_places(lines: Sequence[str], block: Block) -> list[int]:
    """Return the numbers of the lines with the items of a list."""
    return [number for number in range(block.start + 1, block.end) if ITEM.match(lines[number])]


def item_text(line: str) -> str:
    match = ITEM.match(without_comment(line))
    return match[2] if match else ""


def with_flow_item(line: str, item: str) -> str:
    before, bracket, after = line.rpartition("]")
    gap = "" if before.rstrip().endswith(("[", ",")) else ", "
    return f"{before.rstrip()}{gap}{item}{bracket}{after}"


def without_flow_item(line: str, item: str) -> str:
    before, _, rest = line.partition("[")
    inner, _, after = rest.rpartition("]")
    parts = [part for part in inner.split(",") if plain(part) != item]
    return f"{before}[{','.join(parts).strip()}]{after}"


def without_comment(line: str) -> str:
    return COMMENT.sub("", line).rstrip()


def plain(text: str) -> str:
    """Return a scalar without its quotes."""
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def another_way(path: str, key: str) -> HookRefused:
    return HookRefused(f"{path}: {key} is written in a way that is not supported here; not changed")
