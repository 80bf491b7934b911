"""Write summaries of outputs: what a reader needs to know first."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes.binary import kind_of
from tokcap.shapes.folding import folded
from tokcap.shapes.headline import headline, numbered, size_words
from tokcap.shapes.text_digest import TextDigest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.core.payload import Payload
    from tokcap.shapes.base import RunFacts, Shape
    from tokcap.shapes.csv_text import Dialect

# An output that is not longer than its summary would be is shown itself.
WHOLE_BYTES, WHOLE_LINES = 500, 12
# A summary has at most this many bytes, or as many for each token of a large limit.
MOST_BYTES, BYTES_PER_TOKEN = 12_000, 4
FIRST_BYTES_SHOWN = 24


def summary(payload: Payload, shape: Shape, facts: RunFacts) -> bytes:
    """Return a headline, then what is in the output and what stderr says."""
    head, *body = shape.summarize(payload, facts)
    err = list(stderr_lines(facts, alone=not payload.size))
    # After a failure, stderr usually has the reason; after a success, it is usually progress.
    lines = [head, *err, *body] if facts.failed else [head, *body, *err]
    text = "\n".join(lines).encode("utf-8", "replace")
    most_bytes = max(MOST_BYTES, BYTES_PER_TOKEN * (facts.limit_tokens or 0))
    if len(text) > most_bytes:
        text = text[:most_bytes].rpartition(b"\n")[0]
    return text + b"\n"


def without_last_heading(shown: bytes) -> bytes:
    """Return the beginning of a summary without a heading that nothing follows."""
    lines = shown.splitlines(keepends=True)
    while len(lines) > 1 and lines[-1].rstrip().endswith(b":"):
        lines.pop()
    return b"".join(lines)


def handle_only(shape: Shape, facts: RunFacts) -> bytes:
    """Return the output in one line."""
    return (headline(facts, shape.name, records(facts.total_count)) + "\n").encode()


def records(count: int | None) -> str:
    return "" if count is None else numbered(count, "record")


def json_lines(payload: Payload, facts: RunFacts, shape: Shape, *, lines: bool) -> Iterator[str]:
    """Yield the summary of JSON: itself if it is short, else its outline."""
    from tokcap.shapes import json_outline
    from tokcap.shapes.json_text.scanner import compact

    yield headline(facts, shape.name, records(facts.total_count), shape.search_option)
    if payload.size <= WHOLE_BYTES:
        whole = payload.read(0, payload.size)
        yield (whole if lines else compact(whole)).decode("utf-8", "replace").strip()
        return
    read_bytes = min(payload.size, json_outline.READ_BYTES)
    root = None
    if payload.seek_points.bytes:
        # Only a large payload has an index.
        from tokcap.shapes.json_record_outline import read_indexed

        root, read_bytes = read_indexed(payload, shape.name, read_bytes)
    if root is None:
        root = json_outline.read(payload.read(0, read_bytes), many=lines)
    if read_bytes < payload.size:
        yield f"(outline of the first {size_words(read_bytes)} only)"
    yield from json_outline.lines(root)


def table_lines(payload: Payload, facts: RunFacts, shape: Shape, dialect: Dialect) -> Iterator[str]:
    """Yield the summary of a table: itself if it is short, else its columns."""
    from tokcap.shapes import column_summary

    read_bytes = min(payload.size, column_summary.READ_BYTES)
    data = payload.read(0, read_bytes)
    complete = read_bytes == payload.size
    table = column_summary.read(data, dialect, complete=complete)
    if facts.total_count is not None or complete:
        count = records(facts.total_count if facts.total_count is not None else table.rows)
    else:
        count = f"about {records(table.rows * payload.size // max(table.seen_bytes, 1))}"
    yield headline(facts, shape.name, count, shape.search_option)
    if payload.size <= WHOLE_BYTES:
        yield data.decode("utf-8", "replace").strip("\r\n")
        return
    if not complete:
        yield f"(columns of the first {numbered(table.rows, 'row')} only)"
    yield from table.lines


def text_lines(payload: Payload, facts: RunFacts, shape: Shape) -> Iterator[str]:
    """Yield the summary of text: itself if it is short, else errors, its ends, and repeated lines."""
    kind = kind_of(payload)
    if kind:
        yield headline(facts, f"binary ({kind})", "")
        if payload.size:
            yield f"first bytes: {payload.read(0, min(payload.size, FIRST_BYTES_SHOWN)).hex(' ')}"
        return
    digest = TextDigest(payload, facts.limit_tokens)
    yield headline(facts, shape.name, numbered(digest.lines, "line"), shape.search_option)
    if payload.size <= WHOLE_BYTES and digest.lines <= WHOLE_LINES:
        yield from whole_text(payload)
        return
    yield from digest.sections(succeeded=facts.succeeded)


def whole_text(payload: Payload) -> Iterator[str]:
    text = folded(payload).decode("utf-8", "replace").strip("\n")
    if text:
        yield text


def stderr_lines(facts: RunFacts, *, alone: bool) -> Iterator[str]:
    """Yield what stderr says, in more detail if stdout is empty (`alone`)."""
    err = facts.err
    if err is None or not err.size:
        return
    kind = kind_of(err)
    if kind:
        yield f"stderr: binary ({kind})"
    elif err.size <= WHOLE_BYTES and not alone:
        yield "stderr:"
        yield from whole_text(err)
    else:
        digest = TextDigest(err, facts.limit_tokens)
        yield f"stderr: {numbered(digest.lines, 'line')}"
        yield from digest.sections("stderr, ", brief=not alone)
