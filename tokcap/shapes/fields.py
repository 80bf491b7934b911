"""`--fields`: a structured payload in, the same with only some keys or columns out, as source text.

`a,b.c` names the member `a` and the member `c` of `b`, through arrays; `/a.b/c` is a JSON pointer, for
names that hold a dot. Values are copied as they stand.
"""

from __future__ import annotations

from tokcap.core.notice import Notice
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes.jsontext import BYTE_ORDER_MARK, CLOSER, LEXEME, compact, key_text, presentable
from tokcap.shapes.tabletext import CSV, TSV, cell_text, cells_of, end_of_row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeAlias

    from tokcap.core.request import Shape

    Path: TypeAlias = tuple[str, ...]

NAMES_SHOWN = 20


class Selection(Record):
    """A payload with the fields that were asked for."""

    data: bytes
    notices: tuple[Notice, ...] = ()


def paths_of(fields: str) -> dict[str, Path]:
    """Each field as it was written, and the keys that lead to it."""
    paths = {}
    for field in fields.split(","):
        name = field.strip()
        if name.startswith("/"):
            steps = name[1:].split("/")
            paths[name] = tuple(step.replace("~1", "/").replace("~0", "~") for step in steps)
        elif name:
            paths[name] = tuple(name.split("."))
    return paths


def select(data: bytes, shape: Shape, fields: str) -> Selection:
    """The payload with only these fields. A field that is not there is a warning."""
    paths = paths_of(fields)
    if shape in ("json", "jsonl"):
        selector = ValueSelector(data, list(paths.values()))
        kept = selector.select()
        found, names = selector.found, selector.names
    elif shape in ("csv", "tsv"):
        kept, found, names = select_columns(data, shape, list(paths.values()))
    else:
        return Selection(data, (Notice("FIELDS_IGNORED", "the payload is text and has no fields"),))
    missing = [name for name, path in paths.items() if path not in found]
    if not missing:
        return Selection(kept)
    shown = ", ".join(names[:NAMES_SHOWN]) + (", ..." if len(names) > NAMES_SHOWN else "")
    message = f"no field {', '.join(missing)}; there are: {shown or 'none'}"
    return Selection(kept, (Notice("FIELD_UNKNOWN", message),))


class ValueSelector:
    """Copies the members that are asked for, and the containers around them."""

    def __init__(self, data: bytes, paths: list[Path]) -> None:
        self._data = data
        self._paths = paths
        self.found: set[Path] = set()
        # Names that were seen where one was looked for, in order.
        self._names: dict[str, None] = {}

    @property
    def names(self) -> Sequence[str]:
        return list(self._names)

    def select(self) -> bytes:
        out: list[bytes] = []
        begin = len(BYTE_ORDER_MARK) if self._data.startswith(BYTE_ORDER_MARK) else 0
        lexemes: Iterator[tuple[int, int]] = (match.span() for match in LEXEME.finditer(self._data, begin))
        # Of each open container: its closer, what is looked for in it, where it is, if it has children.
        stack: list[Level] = []
        key: bytes | None = None
        for start, end in lexemes:
            sign = self._data[start : start + 1]
            level = stack[-1] if stack else None
            if sign in (b",", b":"):
                continue
            if level and sign == level.closer:
                out.append(level.closer)
                stack.pop()
                if not stack:
                    out.append(b"\n")
                continue
            if level and level.closer == b"}" and key is None:
                key = self._data[start:end]
                continue
            wanted = [(path, rest) for path, rest in level.wanted] if level else [(p, p) for p in self._paths]
            where = level.where if level else ""
            if key is not None:
                name = key_text(key)
                where = f"{where}.{name}" if where else name
                self._names[presentable(where)] = None
                wanted = [(path, rest[1:]) for path, rest in wanted if rest and rest[0] == name]
            whole = [path for path, rest in wanted if not rest]
            if whole and key is not None:
                self.found.update(whole)
                stop = self._end_of(start, end, sign, lexemes)
                out += self._before(level, key)
                out.append(compact(self._data[start:stop]))
            elif sign in CLOSER and wanted:
                out += self._before(level, key)
                out.append(sign)
                stack.append(Level(CLOSER[sign], wanted, where))
            else:
                self._end_of(start, end, sign, lexemes)
            key = None
        return b"".join(out)

    @staticmethod
    def _before(level: Level | None, key: bytes | None) -> Sequence[bytes]:
        """What stands before a child: a comma, its key."""
        if level is None:
            return ()
        comma = (b",",) if level.filled else ()
        level.filled = True
        return (*comma, key, b":") if key is not None else comma

    def _end_of(self, start: int, end: int, sign: bytes, lexemes: Iterator[tuple[int, int]]) -> int:
        """Where the value ends that begins here; passes over its lexemes."""
        depth = 1 if sign in CLOSER else 0
        while depth:
            start, end = next(lexemes)
            inner = self._data[start : start + 1]
            depth += (inner in CLOSER) - (inner in (b"]", b"}"))
        return end


class Level:
    """A container that is being copied in part."""

    __slots__ = ("closer", "filled", "wanted", "where")

    def __init__(self, closer: bytes, wanted: list[tuple[Path, Path]], where: str) -> None:
        self.closer = closer
        # Whole paths, and what is left of each from here on.
        self.wanted = wanted
        self.where = where
        self.filled = False


def select_columns(data: bytes, shape: Shape, paths: list[Path]) -> tuple[bytes, set[Path], Sequence[str]]:
    """The table with the columns that are asked for, what was found of them, and what there is."""
    dialect = TSV if shape == "tsv" else CSV
    names: list[str] = []
    columns: list[int] = []
    rows: list[bytes] = []
    start = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    while start < len(data):
        end = end_of_row(data, start, dialect)
        row = data[start:end]
        cells = cells_of(row, dialect)
        if not rows:
            names = [cell_text(cell) for cell in cells]
            wanted = {".".join(path) for path in paths}
            columns = [number for number, name in enumerate(names) if name in wanted]
        kept = dialect.delimiter.join(cells[number] for number in columns if number < len(cells))
        rows.append(kept + row[len(row.rstrip(b"\r\n")) :])
        start = end
    found = {path for path in paths if ".".join(path) in names}
    return b"".join(rows), found, names
