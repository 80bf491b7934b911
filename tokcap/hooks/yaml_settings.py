"""One item in a list of a YAML file, below two keys: `plugins: {enabled: [ITEM]}` in the block style.

This is not a YAML parser. It reads and changes what people and agents write there: keys at the top and one
level below, and a list of plain items in either style. Anything else is refused.
"""

from __future__ import annotations

import re

from tokcap.hooks.line_settings import without_quotes
from tokcap.startup.record import TYPE_CHECKING, Record

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

    def find(self, text: str) -> str | None:
        return self.value if self.value in items_in(text, self.keys) else None

    def added(self, text: str) -> str:
        lines = lines_of(text)
        newline = "\r\n" if "\r\n" in text else "\n"
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += newline
        top, found = blocks_in(lines, self.keys)
        if top is None:
            new = [f"{self.keys[0]}:", f"  {self.keys[1]}:", f"    - {self.value}"]
            at = len(lines)
        elif found is None:
            if top.value:
                raise another_way(self.keys[0])
            margin = " " * (child_indent(lines, top) or 2)
            new, at = [f"{margin}{self.keys[1]}:", f"{margin}  - {self.value}"], top.start + 1
        elif found.value:
            line, bracket, rest = lines[found.start].rpartition("]")
            comma = "" if line.rstrip().endswith(("[", ",")) else ", "
            lines[found.start] = f"{line.rstrip()}{comma}{self.value}{bracket}{rest}"
            new, at = [], 0
        else:
            places = item_places(lines, found)
            last = ITEM.match(lines[places[-1]]) if places else None
            margin = last[1] if last else " " * (found.indent + 2)
            new, at = [f"{margin}- {self.value}"], (places[-1] if places else found.start) + 1
        lines[at:at] = [line + newline for line in new]
        return "".join(lines)

    def cut(self, text: str) -> str:
        lines = lines_of(text)
        top, found = blocks_in(lines, self.keys)
        assert top
        assert found
        if found.value:
            line, _, rest = lines[found.start].partition("[")
            listed, _, rest = rest.rpartition("]")
            kept = [part for part in listed.split(",") if without_quotes(part.strip()) != self.value]
            lines[found.start] = f"{line}[{','.join(kept).strip()}]{rest}"
            return "".join(lines)
        places = item_places(lines, found)
        gone = {place for place in places if item_at(lines, place) == self.value}
        if len(gone) == len(places):
            # The list would be empty, and with it perhaps the key above.
            gone.add(found.start)
            inside = range(top.start + 1, top.end)
            if all(number in gone or not without_comment(lines[number]) for number in inside):
                gone.add(top.start)
        return "".join(line for number, line in enumerate(lines) if number not in gone)


def items_in(text: str, keys: tuple[str, str]) -> list[str]:
    """Return the items of a list; `ValueError` if it is written in a way that is not supported."""
    lines = lines_of(text)
    _, found = blocks_in(lines, keys)
    if found is None:
        return []
    if found.value:
        return [without_quotes(part.strip()) for part in found.value[1:-1].split(",") if part.strip()]
    return [item_at(lines, place) for place in item_places(lines, found)]


def lines_of(text: str) -> list[str]:
    """Return the lines of a file that is one mapping in the block style."""
    lines = text.splitlines(keepends=True)
    plain = [without_comment(line) for line in lines]
    marks = [number for number, line in enumerate(plain) if line in ("---", "...")]
    contents = [line for line in plain if line and line != "---"]
    several = len(marks) > 1 or any(any(plain[:number]) for number in marks)
    if several or (contents and not KEY.fullmatch(contents[0])):
        raise ValueError("not one mapping with a key in each line")
    if any(line.startswith("\t") for line in plain):
        raise ValueError("not valid YAML (a tab at the start of a line)")
    return lines


def blocks_in(lines: Sequence[str], keys: tuple[str, str]) -> tuple[Block | None, Block | None]:
    """Return the blocks of both keys, None for one that is missing."""
    top = block_in(lines, keys[0], 0, len(lines), 0)
    indent = child_indent(lines, top) if top else None
    if top is None or indent is None:
        if top is not None and top.value not in ("", "{}", "null", "~"):
            raise another_way(keys[0])
        return top, None
    if top.value:
        raise another_way(keys[0])
    found = block_in(lines, keys[1], top.start + 1, top.end, indent)
    if found and found.value and not (found.value.startswith("[") and found.value.endswith("]")):
        raise another_way(keys[1])
    return top, found


def block_in(lines: Sequence[str], key: str, start: int, end: int, indent: int) -> Block | None:
    """Return the block of a key with an indent, between two lines."""
    found: Block | None = None
    for number in range(start, end):
        match = KEY.fullmatch(without_comment(lines[number]))
        if not match or len(match[1]) != indent or match[3] != key:
            continue
        if found is not None:
            raise ValueError(f"the key {key} is there twice")
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


def item_places(lines: Sequence[str], block: Block) -> list[int]:
    """Return the numbers of the lines with the items of a list."""
    return [number for number in range(block.start + 1, block.end) if ITEM.match(lines[number])]


def item_at(lines: Sequence[str], place: int) -> str:
    match = ITEM.match(without_comment(lines[place]))
    return without_quotes(match[2].strip()) if match else ""


def without_comment(line: str) -> str:
    return COMMENT.sub("", line).rstrip()


def another_way(key: str) -> ValueError:
    return ValueError(f"{key} is written in a way that is not supported here")
