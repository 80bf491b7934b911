"""`summary`: what a reader needs who sees nothing else, most important first, a few KB at most."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes.jsontext import compact
from tokcap.shapes.modes import columns, outline
from tokcap.shapes.modes.binary import SAMPLE_BYTES, binary_kind
from tokcap.shapes.modes.digest import Digest
from tokcap.shapes.modes.headline import headline, numbered, size_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.core.payload import Payload
    from tokcap.core.request import Shape
    from tokcap.shapes.modes.headline import Facts

# What is no longer than its summary would be is shown itself.
WHOLE_BYTES, WHOLE_LINES = 500, 12
MOST_BYTES = 12_000


def summary(payload: Payload, shape: Shape, facts: Facts) -> bytes:
    """Shape, sizes and ending in one line; then what is in it, and what stderr says."""
    if shape in ("json", "jsonl"):
        said = document_lines(payload, shape, facts)
    elif shape in ("csv", "tsv"):
        said = table_lines(payload, shape, facts)
    else:
        said = text_lines(payload, facts)
    head, *body = said
    err = list(stderr_lines(facts, alone=not payload.size))
    # A failure is most often explained on stderr; of a success it is mostly progress.
    failed = facts.signal is not None or facts.exit_status not in (None, 0)
    lines = [head, *err, *body] if failed else [head, *body, *err]
    text = "\n".join(lines).encode("utf-8", "replace")
    if len(text) > MOST_BYTES:
        text = text[:MOST_BYTES].rpartition(b"\n")[0]
    return text + b"\n"


def document_lines(payload: Payload, shape: Shape, facts: Facts) -> Iterator[str]:
    many = shape == "jsonl"
    count = numbered(facts.total_count, "record") if facts.total_count is not None else ""
    yield headline(facts, shape, count, ways=True)
    if payload.size <= WHOLE_BYTES:
        whole = payload.read(0, payload.size)
        yield (whole if many else compact(whole)).decode("utf-8", "replace").strip()
        return
    looked = min(payload.size, outline.LOOKED_BYTES)
    root = outline.read(payload.read(0, looked), many=many)
    if looked < payload.size:
        yield f"(outline of the first {size_words(looked)} only)"
    yield from outline.lines(root)


def table_lines(payload: Payload, shape: Shape, facts: Facts) -> Iterator[str]:
    looked = min(payload.size, columns.LOOKED_BYTES)
    data = payload.read(0, looked)
    complete = looked == payload.size
    table = columns.read(data, shape, complete=complete)
    if facts.total_count is not None or complete:
        count = numbered(facts.total_count if facts.total_count is not None else table.rows, "record")
    else:
        count = f"about {numbered(table.rows * payload.size // max(table.seen_bytes, 1), 'record')}"
    yield headline(facts, shape, count)
    if payload.size <= WHOLE_BYTES:
        yield data.decode("utf-8", "replace").strip("\r\n")
        return
    if not complete:
        yield f"(columns of the first {numbered(table.rows, 'row')} only)"
    yield from table.lines


def text_lines(payload: Payload, facts: Facts) -> Iterator[str]:
    kind = binary_kind(payload.read(0, min(payload.size, SAMPLE_BYTES)))
    if kind:
        yield headline(facts, f"binary ({kind})", "")
        if payload.size:
            yield f"first bytes: {payload.read(0, min(payload.size, 24)).hex(' ')}"
        return
    digest = Digest(payload)
    yield headline(facts, "text", numbered(digest.lines, "line"), ways=True)
    if payload.size <= WHOLE_BYTES and digest.lines <= WHOLE_LINES:
        yield from whole_text(payload)
        return
    yield from digest.sections(calm=facts.signal is None and facts.exit_status == 0)


def whole_text(payload: Payload) -> Iterator[str]:
    from tokcap.shapes.modes.compaction import folded

    text = folded(payload).decode("utf-8", "replace").strip("\n")
    if text:
        yield text


def stderr_lines(facts: Facts, *, alone: bool) -> Iterator[str]:
    """What stderr says; all that can be said of it where it is all there is."""
    err = facts.err
    if err is None or not err.size:
        return
    kind = binary_kind(err.read(0, min(err.size, SAMPLE_BYTES)))
    if kind:
        yield f"stderr: binary ({kind})"
    elif err.size <= WHOLE_BYTES and not alone:
        yield "stderr:"
        yield from whole_text(err)
    else:
        digest = Digest(err)
        yield f"stderr: {numbered(digest.lines, 'line')}"
        yield from digest.sections("stderr, ", brief=not alone)
