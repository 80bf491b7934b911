"""What a payload is: its bytes in, a shape out. JSON and JSON Lines only if all of it is valid."""

from __future__ import annotations

from tokcap.cut.tree import ARRAY, Reader
from tokcap.jsontext import BYTE_ORDER_MARK, top_level_values
from tokcap.mark import quoted
from tokcap.record import TYPE_CHECKING, Record
from tokcap.types import Notice

if TYPE_CHECKING:
    from tokcap.types import Payload, Shape

# As much of a table is looked at.
SAMPLE_BYTES = 1 << 16
SAMPLE_ROWS = 200
LONGEST_NAME = 40
MOST_WORDS = 4
DELIMITERS: dict[Shape, str] = {"csv": ",", "tsv": "\t"}


class Sniffed(Record):
    """The shape of a payload, how many records it has if that is known, and what is odd about it."""

    shape: Shape
    total_count: int | None = None
    notices: tuple[Notice, ...] = ()


def sniff(payload: Payload, declared: Shape) -> Sniffed:
    """The declared shape if the payload bears it out, else what the payload itself says."""
    if declared == "text":
        return Sniffed("text")
    if declared in ("csv", "tsv"):
        return sniff_declared_table(payload, declared)
    found = sniff_json(payload)
    if declared == "auto":
        return found or sniff_table(payload) or Sniffed("text")
    if found and (found.shape == declared or declared == "jsonl"):
        return found.but(shape=declared)
    if declared == "jsonl" and payload.size and (count := count_values(payload)):
        return Sniffed("jsonl", total_count=count)
    message = f"the payload is not valid {'JSON' if declared == 'json' else 'JSON Lines'}; taken as text"
    return Sniffed("text", notices=(Notice("SHAPE_MISMATCH", message),))


def sniff_json(payload: Payload) -> Sniffed | None:
    """JSON if all of it is one document, JSON Lines if it is a sequence of objects and arrays."""
    beginning = first_bytes(payload)
    # Whatever does not begin like a value is none; most output ends here.
    if beginning[:1] not in b'{["-0123456789tfn' or not beginning:
        return None
    data = payload.read(0, payload.size).removeprefix(BYTE_ORDER_MARK)
    import orjson

    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    else:
        return Sniffed("json", total_count=count_records(document, data))
    # orjson is fast, and stricter than the grammar: no deep nesting, no lone surrogates, no `1E400`.
    if beginning[:1] in b"{[" and (lines := count_lines(data)):
        return Sniffed("jsonl", total_count=lines)
    try:
        spans = list(top_level_values(data))
    except ValueError:
        return None
    if len(spans) == 1:
        return Sniffed("json", total_count=count_in_source(data))
    # A column of numbers is no evidence of JSON Lines.
    if spans and all(data[span.start] in b"{[" for span in spans):
        return Sniffed("jsonl", total_count=len(spans))
    return None


def first_bytes(payload: Payload) -> bytes:
    """What a payload begins with behind blanks; empty if there is nothing else."""
    for place in range(0, payload.size, SAMPLE_BYTES):
        block = payload.read(place, min(place + SAMPLE_BYTES, payload.size))
        begun = (block if place else block.removeprefix(BYTE_ORDER_MARK)).lstrip(b" \t\r\n")
        if begun:
            return begun
    return b""


def count_records(document: object, data: bytes) -> int | None:
    """The length of a document that is an array, or has one array at its top."""
    if isinstance(document, list):
        return len(document)
    if isinstance(document, dict):
        arrays = [key for key, value in document.items() if isinstance(value, list)]
        # A key that stands twice is one to the parser.
        if len(arrays) == 1 and data.count(quoted(arrays[0])) == 1:
            return len(document[arrays[0]])
        return count_in_source(data) if arrays else None
    return None


def count_in_source(data: bytes) -> int | None:
    """The same, by looking at the source."""
    reader = Reader(data, lines=False)
    reader.read_top()
    if reader.root.kind == ARRAY:
        return len(reader.root.children)
    arrays = [node for node in reader.root.children if node.kind == ARRAY]
    return arrays[0].count if len(arrays) == 1 else None


def count_lines(data: bytes) -> int:
    """How many values there are if there is exactly one object or array per line; else 0."""
    import orjson

    count = 0
    for line in data.splitlines():
        if line.strip(b" \t\r"):
            try:
                value = orjson.loads(line)
            except orjson.JSONDecodeError:
                return 0
            if not isinstance(value, list | dict):
                return 0
            count += 1
    return count


def count_values(payload: Payload) -> int:
    """How many JSON values of any kind there are, one after the other; 0 if it is something else."""
    try:
        return sum(1 for _ in top_level_values(payload.read(0, payload.size)))
    except ValueError:
        return 0


def sniff_table(payload: Payload) -> Sniffed | None:
    """CSV or TSV if the evidence is strong: a header of names, and as many cells in every row."""
    sample = payload.read(0, min(payload.size, SAMPLE_BYTES))
    for shape, delimiter in DELIMITERS.items():
        if delimiter.encode() in sample.partition(b"\n")[0] and looks_like_table(
            sample, delimiter, complete=len(sample) == payload.size
        ):
            return Sniffed(shape)
    return None


def looks_like_table(sample: bytes, delimiter: str, *, complete: bool) -> bool:
    rows, closed = read_rows(sample, delimiter, SAMPLE_ROWS)
    if complete and not closed:
        return False
    # A sample may end inside a row, or inside a quoted cell: then the rows before it have to do.
    if not complete and len(rows) <= SAMPLE_ROWS:
        rows = rows[:-1]
    header, *body = [row for row in rows if row] or [[]]
    cells = len(header)
    return (
        cells >= 2
        and len(body) >= (2 if cells == 2 else 1)
        and all(len(row) == cells for row in body)
        and len(set(header)) == cells
        and all(is_name(cell) for cell in header)
        # A first row that says the same as one below it is no header.
        and not any(cell == name for row in body for cell, name in zip(row, header, strict=True))
        # In prose a comma is followed by a blank.
        and not all(cell.startswith(" ") for row in body for cell in row[1:])
    )


def sniff_declared_table(payload: Payload, declared: Shape) -> Sniffed:
    """A table if its quotes are closed; there is nothing else that a table could contradict."""
    if not payload.size:
        return Sniffed("text")
    if read_rows(payload.read(0, payload.size), DELIMITERS[declared], payload.size)[1]:
        return Sniffed(declared)
    message = f"the payload is not valid {declared.upper()}: a quote is not closed; taken as text"
    return Sniffed("text", notices=(Notice("SHAPE_MISMATCH", message),))


def read_rows(data: bytes, delimiter: str, most: int) -> tuple[list[list[str]], bool]:
    """At most a few more than `most` rows, and whether all quotes that were met are closed."""
    import csv
    import io

    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True):
            rows.append(row)
            if len(rows) > most:
                break
    except csv.Error as error:
        # The reader has a limit for the size of a cell, and tables have not.
        return rows, "field limit" in str(error)
    return rows, True


def is_name(cell: str) -> bool:
    """Whether a cell may head a column: a few words on one line that begin with a letter."""
    if not (cell[:1].isalpha() or cell[:1] == "_") or cell != cell.strip() or "\n" in cell:
        return False
    if len(cell) > LONGEST_NAME or len(cell.split()) > MOST_WORDS:
        return False
    return all(cell.count(one) == cell.count(other) for one, other in ("()", "[]", "{}"))
