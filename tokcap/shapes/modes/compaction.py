"""`table`: the same records in fewer tokens. What is no table is compacted; every value survives."""

from __future__ import annotations

from tokcap.core.notice import Notice
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes.jsontext import BYTE_ORDER_MARK, compact
from tokcap.shapes.modes.binary import SAMPLE_BYTES, binary_kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from mmap import mmap

    from tokcap.core.payload import Payload
    from tokcap.core.request import Shape

BLANKS = b" \t\r\n"
BLOCK_BYTES = 1 << 20


class Changed(Record):
    """A payload in another form."""

    data: bytes
    shape: Shape
    # What stood beside the records in a document that has become a table.
    notices: tuple[Notice, ...] = ()


def as_table(payload: Payload, shape: Shape) -> Changed:
    """Records as one header and one row each; else the payload without what says nothing."""
    if shape in ("csv", "tsv"):
        return Changed(payload.read(0, payload.size), shape)
    if shape not in ("json", "jsonl"):
        if binary_kind(payload.read(0, min(payload.size, SAMPLE_BYTES))):
            return Changed(payload.read(0, payload.size), shape)
        return Changed(folded(payload), shape)
    from tokcap.shapes.modes.rows import table_of

    data = payload.view()
    begin = len(BYTE_ORDER_MARK) if data[: len(BYTE_ORDER_MARK)] == BYTE_ORDER_MARK else 0
    table = table_of(data, begin, lines=shape == "jsonl")
    if table is None:
        return Changed(compacted(data, begin, lines=shape == "jsonl"), shape)
    beside = f"beside the rows: {table.beside.decode('utf-8', 'replace')}"
    notices = (Notice("BESIDE_TABLE", beside),) if table.beside else ()
    return Changed(table.data, "tsv", notices)


def compacted(data: bytes | mmap, begin: int, *, lines: bool) -> bytes:
    """JSON without insignificant white space, one value a line."""
    from tokcap.shapes.modes.rows import NotThere, end_of

    if not lines:
        return compact(data[begin:]) + b"\n"
    out = []
    try:
        while begin < len(data):
            end = end_of(data, begin)
            out.append(compact(data[begin:end]) + b"\n")
            begin = end
    except NotThere:
        # Blanks at the end, or no JSON after all: then it stays as it is.
        rest = data[begin:].strip(BLANKS)
        out.append(rest + b"\n" if rest else b"")
    return b"".join(out)


def folded(payload: Payload) -> bytes:
    """Text without trailing blanks, with one blank line for many, and equal lines as one."""
    out: list[bytes] = []
    text = bytearray()
    last, times = b"", 0
    for lines in lines_in_blocks(payload):
        for line in lines:
            said = line.rstrip(b" \t\r")
            if said == last:
                times += 1
                continue
            out += run_of(last, times)
            last, times = said, 1
        text += b"".join(line + b"\n" for line in out)
        out.clear()
    text += b"".join(line + b"\n" for line in run_of(last, times))
    # A blank line separates, and there is nothing to be separated at either end.
    whole = bytes(text).strip(b"\n")
    return whole + b"\n" if whole else b""


def run_of(line: bytes, times: int) -> Sequence[bytes]:
    """Equal lines as one with their number, where that is shorter."""
    if not line:
        return [b""] * min(times, 1)
    one = b"%s  [x %d]" % (line, times)
    return [one] if len(one) < (len(line) + 1) * times - 1 else [line] * times


def lines_in_blocks(payload: Payload) -> Iterator[list[bytes]]:
    """All lines without their ends, some at a time."""
    parts: list[bytes] = []
    for place in range(0, payload.size, BLOCK_BYTES):
        block = payload.read(place, min(place + BLOCK_BYTES, payload.size))
        cut = block.rfind(b"\n")
        if cut >= 0:
            yield b"".join((*parts, block[:cut])).split(b"\n")
            parts = []
        parts.append(block[cut + 1 :])
    if any(parts):
        yield [b"".join(parts)]
