"""What a payload is: its bytes in, a shape out. JSON and JSON Lines only if all of it is valid."""

from __future__ import annotations

from tokcap.jsontext import BYTE_ORDER_MARK, top_level_values
from tokcap.record import TYPE_CHECKING, Record
from tokcap.types import Notice

if TYPE_CHECKING:
    from tokcap.types import Payload, Shape

# As much of a table is looked at.
SAMPLE_BYTES = 1 << 16
SAMPLE_ROWS = 200
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
        return Sniffed(declared) if payload.size else Sniffed("text")
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
    beginning = (
        payload.read(0, min(payload.size, SAMPLE_BYTES)).removeprefix(BYTE_ORDER_MARK).lstrip(b" \t\r\n")
    )
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
        return Sniffed("json", total_count=count_records(document))
    # orjson is fast, and stricter than the grammar: no deep nesting, no lone surrogates, no `1E400`.
    if beginning[:1] in b"{[" and (lines := count_lines(data)):
        return Sniffed("jsonl", total_count=lines)
    try:
        spans = list(top_level_values(data))
    except ValueError:
        return None
    if len(spans) == 1:
        return Sniffed("json")
    # A column of numbers is no evidence of JSON Lines.
    if spans and all(data[span.start] in b"{[" for span in spans):
        return Sniffed("jsonl", total_count=len(spans))
    return None


def count_records(document: object) -> int | None:
    """The length of a document that is an array, or has one array at its top."""
    if isinstance(document, list):
        return len(document)
    if isinstance(document, dict):
        arrays = [value for value in document.values() if isinstance(value, list)]
        if len(arrays) == 1:
            return len(arrays[0])
    return None


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
    import csv
    import io

    try:
        text = sample.decode("utf-8", "strict" if complete else "ignore").removeprefix("\ufeff")
        rows = []
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True):
            rows.append(row)
            if len(rows) > SAMPLE_ROWS:
                break
    except (csv.Error, UnicodeDecodeError):
        # A sample may end inside a quoted cell: then the rows before it have to do.
        if complete:
            return False
    if not complete and len(rows) <= SAMPLE_ROWS:
        rows = rows[:-1]
    header, *body = rows or [[]]
    cells = len(header)
    return (
        cells >= 2
        and len(body) >= (2 if cells == 2 else 1)
        and all(len(row) == cells for row in body)
        and len(set(header)) == cells
        and all(is_name(cell) for cell in header)
        # In prose a comma is followed by a blank.
        and not all(cell.startswith(" ") for row in body for cell in row[1:])
    )


def is_name(cell: str) -> bool:
    """Whether a cell may head a column: short, on one line, not empty and no number."""
    if not cell.strip() or cell != cell.strip() or len(cell) > 60 or "\n" in cell:
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False
