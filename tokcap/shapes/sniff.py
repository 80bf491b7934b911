"""What a payload is: its bytes in, a shape out. JSON and JSON Lines only if all of it is valid."""

from __future__ import annotations

import io

from tokcap.core.notice import Notice
from tokcap.lean.plainjson import quoted
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes.beginning import is_name
from tokcap.shapes.jsontext import BYTE_ORDER_MARK, beginning_of_values, top_level_values
from tokcap.shapes.tree import ARRAY, Reader

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from tokcap.core.payload import Payload
    from tokcap.core.request import Shape
    from tokcap.shapes.jsontext import Span, View

# As much of a payload is looked at before all of it is.
SAMPLE_BYTES = 1 << 16
# Of less than this, a look at all of it costs less than one at its beginning by the grammar.
SMALL_BYTES = 1 << 20
# So much is parsed sooner than orjson is loaded.
LIGHT_BYTES = 1 << 18
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
        return sniff_declared_table(payload, declared)
    found = sniff_json(payload, bare_lines=declared == "jsonl")
    if declared == "auto":
        return found or sniff_table(payload) or Sniffed("text")
    if found and found.shape == declared:
        return found
    if found and declared == "jsonl":
        return Sniffed("jsonl", total_count=1)
    message = f"the payload is not valid {'JSON' if declared == 'json' else 'JSON Lines'}; taken as text"
    return Sniffed("text", notices=(Notice("SHAPE_MISMATCH", message),))


def sniff_json(payload: Payload, *, bare_lines: bool = False) -> Sniffed | None:
    """JSON if all of it is one document, JSON Lines if it is a sequence of objects and arrays.

    A column of numbers is no evidence of JSON Lines, unless `bare_lines` are asked for.
    """
    place = first_sign(payload)
    sample = payload.read(place, min(place + SAMPLE_BYTES, payload.size))
    # Whatever does not begin like a value is none; most output ends here.
    if sample[:1] not in b'{["-0123456789tfn' or not sample:
        return None
    many = False
    if payload.size > SMALL_BYTES:
        try:
            beginning = beginning_of_values(sample)
        except ValueError:
            return None
        many = len(beginning.values) + beginning.more > 1
        if many and not bare_lines and any(is_bare(sample, span) for span in beginning.values):
            return None
    data = payload.view()
    if not many:
        try:
            document = parsed(data, place)
        except (ValueError, RecursionError):
            pass
        else:
            return Sniffed("json", total_count=count_records(document, data))
    return sniff_values(data, bare_lines=bare_lines)


def parsed(data: View, place: int) -> object:
    """The one document that begins at a place."""
    if len(data) <= LIGHT_BYTES:
        from tokcap.lean.plainjson import loads

        return loads(data[place:].decode(), numbers=False)
    import orjson

    return orjson.loads(memoryview(data)[place:])


def sniff_values(data: View, *, bare_lines: bool) -> Sniffed | None:
    """The same by walking over all of it, one value after the other."""
    count, bare = 0, False
    try:
        for span in top_level_values(data):
            count += 1
            bare = bare or is_bare(data, span)
            if bare and count > 1 and not bare_lines:
                return None
    except ValueError:
        return None
    if count == 1:
        return Sniffed("json", total_count=count_in_source(data))
    return Sniffed("jsonl", total_count=count) if count else None


def is_bare(data: View, span: Span) -> bool:
    """Whether a value is no container."""
    return data[span[0]] not in b"{["


def first_sign(payload: Payload) -> int:
    """Where something begins behind a byte order mark and blanks; the end if there is nothing."""
    for place in range(0, payload.size, SAMPLE_BYTES):
        block = payload.read(place, min(place + SAMPLE_BYTES, payload.size))
        begun = (block if place else block.removeprefix(BYTE_ORDER_MARK)).lstrip(b" \t\r\n")
        if begun:
            return place + len(block) - len(begun)
    return payload.size


def count_records(document: object, data: View) -> int | None:
    """The length of a document that is an array, or has one array at its top."""
    if isinstance(document, list):
        return len(document)
    if isinstance(document, dict):
        arrays = [key for key, value in document.items() if isinstance(value, list)]
        # A key that stands twice is one to the parser.
        if len(arrays) == 1 and stands_once(arrays[0], data):
            return len(document[arrays[0]])
        return count_in_source(data) if arrays else None
    return None


def stands_once(key: str, data: View) -> bool:
    """Whether a key is in the source once, spelt as it is. One with half a character in it never is."""
    try:
        text = quoted(key)
    except UnicodeEncodeError:
        return False
    place = data.find(text)
    return place >= 0 and data.find(text, place + 1) < 0


def count_in_source(data: View) -> int | None:
    """The same, by looking at the source."""
    reader = Reader(data, lines=False)
    if reader.root.kind == ARRAY:
        reader.pass_over(len(data))
        return reader.root.count
    reader.read_top()
    arrays = [node for node in reader.root.children if node.kind == ARRAY]
    return arrays[0].count if len(arrays) == 1 else None


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
    if all_quotes_closed(payload, DELIMITERS[declared]):
        return Sniffed(declared)
    message = f"the payload is not valid {declared.upper()}: a quote is not closed; taken as text"
    return Sniffed("text", notices=(Notice("SHAPE_MISMATCH", message),))


def all_quotes_closed(payload: Payload, delimiter: str) -> bool:
    import csv

    # Never closed itself: it belongs to nothing that would have to be given back.
    lines = io.TextIOWrapper(io.BufferedReader(Stream(payload)), "utf-8-sig", "replace", newline="")
    try:
        for _row in csv.reader(lines, delimiter=delimiter, strict=True):
            pass
    except csv.Error as error:
        return is_about_size(error)
    return True


class Stream(io.RawIOBase):
    """A payload as a file that is read from its beginning to its end."""

    def __init__(self, payload: Payload) -> None:
        self._payload = payload
        self._place = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        room = memoryview(buffer).cast("B")
        block = self._payload.read(self._place, min(self._place + len(room), self._payload.size))
        room[: len(block)] = block
        self._place += len(block)
        return len(block)


def read_rows(data: bytes, delimiter: str, most: int) -> tuple[list[list[str]], bool]:
    """At most a few more than `most` rows, and whether all quotes that were met are closed."""
    import csv

    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True):
            rows.append(row)
            if len(rows) > most:
                break
    except csv.Error as error:
        return rows, is_about_size(error)
    return rows, True


def is_about_size(error: Exception) -> bool:
    """The reader has a limit for the size of a cell, and tables have not."""
    return "field limit" in str(error)
