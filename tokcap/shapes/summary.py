"""Write summaries of outputs: what a reader needs to know first."""

from __future__ import annotations

from tokcap.core.mark import words_of
from tokcap.core.tokenizer import Total
from tokcap.focus.digest import TextDigest
from tokcap.shapes.beginning import kind_of
from tokcap.shapes.text import folded
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.core.payload import Payload
    from tokcap.shapes.base import RunFacts, Shape
    from tokcap.shapes.csv_text import Dialect


def headline(facts: RunFacts, what: str, count: str, search_option: str = "") -> str:
    """Return one line: what the output is, `count` records, sizes, how the run ended, how to read it."""
    phrases = ["nothing on stdout" if facts.err_bytes else "no output"]
    if facts.out_bytes:
        phrases = [what, count, size_words(facts.out_bytes)] if count else [what, size_words(facts.out_bytes)]
        if facts.out_tokens is not None:
            total = Total(facts.out_tokens, facts.out_tokens_exact)
            phrases.append(f"{words_of(total)} {'token' if total == Total(1) else 'tokens'}")
    if facts.err_bytes:
        phrases.append(f"stderr {size_words(facts.err_bytes)}")
    if facts.signal is not None:
        phrases.append(f"killed by {signal_name(facts.signal)}")
    elif facts.exit_status is not None:
        phrases.append(f"exit {facts.exit_status}")
    line = ", ".join(phrases)
    if facts.handle:
        only_stderr = facts.err_bytes and not facts.out_bytes
        way = facts.reader.call(facts.handle, [("stream", "err")] if only_stderr else ())
        if search_option:
            way += " " + facts.reader.choice(*search_option.split(" "))
        line = f"[{facts.handle}] {line}; {way}"
    else:
        line += "; not stored"
    if facts.lost_bytes:
        line += f" (all but {size_words(facts.lost_bytes)}, which were not stored)"
    return line


def numbered(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def size_words(size: int) -> str:
    """Return a size in words; three digits are enough."""
    if size < 1000:
        return numbered(size, "byte")
    # Round before the unit is chosen, so that 999.9 KB is 1.0 MB.
    for unit, scale in (("KB", 1000), ("MB", 10**6), ("GB", 10**9)):
        if round(size / scale) < 1000 or unit == "GB":
            break
    return f"{size / scale:.1f} {unit}" if size < 9.95 * scale else f"{size / scale:.0f} {unit}"


def signal_name(number: int) -> str:
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


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


def handle_only(shape: Shape, facts: RunFacts) -> bytes:
    """Return the output in one line."""
    return (headline(facts, shape.name, records(facts.total_count)) + "\n").encode()


def records(count: int | None) -> str:
    return "" if count is None else numbered(count, "record")


def json_lines(payload: Payload, facts: RunFacts, shape: Shape, *, lines: bool) -> Iterator[str]:
    """Yield the summary of JSON: itself if it is short, else its outline."""
    from tokcap.shapes import json_outline
    from tokcap.shapes.json_scanner import compact

    yield headline(facts, shape.name, records(facts.total_count), shape.search_option)
    if payload.size <= WHOLE_BYTES:
        whole = payload.read(0, payload.size)
        yield (whole if lines else compact(whole)).decode("utf-8", "replace").strip()
        return
    try:
        root, read_bytes = json_outline.outline_of(payload, lines=lines)
    except ValueError:
        # Too long to be read at once, or what is left of a stored output whose end was lost.
        yield from TextDigest(payload, facts.limit_tokens, failed=facts.failed).sections(
            succeeded=facts.succeeded
        )
        return
    if read_bytes < payload.size:
        yield f"(outline of the first {size_words(read_bytes)} only)"
    yield from json_outline.lines(root)


def table_lines(payload: Payload, facts: RunFacts, shape: Shape, dialect: Dialect) -> Iterator[str]:
    """Yield the summary of a table: itself if it is short, else its columns."""
    from tokcap.shapes import table_columns

    read_bytes = min(payload.size, table_columns.READ_BYTES)
    data = payload.read(0, read_bytes)
    complete = read_bytes == payload.size
    table = table_columns.described(data, dialect, complete=complete)
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
    digest = TextDigest(payload, facts.limit_tokens, failed=facts.failed)
    yield headline(facts, shape.name, numbered(digest.lines, "line"), shape.search_option)
    if payload.size <= WHOLE_BYTES and digest.lines <= WHOLE_LINES:
        yield from whole_text(payload)
        return
    yield from digest.sections(succeeded=facts.succeeded)


def whole_text(payload: Payload) -> Iterator[str]:
    text = folded(payload)[:].decode("utf-8", "replace").strip("\n")
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
        digest = TextDigest(err, facts.limit_tokens, failed=facts.failed)
        yield f"stderr: {numbered(digest.lines, 'line')}"
        yield from digest.sections("stderr, ", brief=not alone)
