"""`-o json`: one envelope, whose five keys are a contract. `-o jsonl`: values as lines, then `meta`.

Values are copied, not parsed. Most answers are plain text, and do not load this.
"""

from __future__ import annotations

from tokcap import exits
from tokcap.core.cut import Kept, Mark, Values
from tokcap.core.mark import mark_element, mark_member
from tokcap.core.payload import SCRATCH_BYTES, LongText, Spool
from tokcap.outputs import LEAST_TOKENS
from tokcap.startup.plainjson import compact, quoted
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.core.cut import LongValues, Part
    from tokcap.core.response import Failure, Notice, Response

# What the smallest envelope takes, in most vocabularies.
SMALLEST_ENVELOPE_TOKENS = 110
# Stands for a payload that is written block by block. It is the first place in an envelope with these bytes.
PLACEHOLDER = b"\0"


class Json:
    """Structured payload as itself; text as `["…"]`, and `["…", "[TRUNCATED]"]` when cut."""

    has_envelope = True
    has_record_lines = False
    least_tokens = LEAST_TOKENS + SMALLEST_ENVELOPE_TOKENS

    def compose(self, parts: Sequence[Part]) -> bytes:
        if len(parts) == 1 and isinstance(parts[0], Values):
            document = as_document(parts[0])
            return b"[" + document + b"]" if parts[0].style == "bare" else document
        strings = []
        for part in parts:
            assert not isinstance(part, Values)
            strings.append(
                quoted(part.data.decode("utf-8", "replace") if isinstance(part, Kept) else part.text)
            )
        return b"[" + b",".join(strings) + b"]"

    def compose_long(self, values: LongValues) -> LongText:
        return in_blocks(values.document())

    def compose_count(self, tokens: int) -> None:
        return None

    def write(self, response: Response) -> bytes:
        envelope = {
            "ok": response.status == exits.OK,
            # Inserted as it was composed and counted, never serialised again.
            "data": response.payload,
            "error": error_json(response.failure),
            "warnings": warnings_json(response.notices),
            "meta": response.meta.as_json(),
        }
        return compact(envelope) + b"\n"

    def blocks(self, response: Response) -> Iterator[bytes]:
        # The five keys are written in order, and the payload is one of them.
        before, after = self.write(response.replace(body=PLACEHOLDER)).split(PLACEHOLDER, 1)
        yield before
        yield from long_blocks(response)
        yield after


JSON = Json()


class JsonLines(Json):
    """Text becomes one string per line, each with its line end, so that the strings join to the text."""

    has_record_lines = True

    def compose(self, parts: Sequence[Part]) -> bytes:
        lines = b""
        for part in parts:
            if isinstance(part, Values):
                lines += as_lines(part)
            elif isinstance(part, Mark):
                lines += mark_object(part) + b"\n"
            else:
                # Not `splitlines`, which also splits at a dozen other characters.
                *ended, last = part.data.decode("utf-8", "replace").split("\n")
                records = [line + "\n" for line in ended] + ([last] if last else [])
                lines += b"".join(quoted(record) + b"\n" for record in records)
        return lines

    def compose_long(self, values: LongValues) -> LongText:
        return in_blocks(values.lines())

    def write(self, response: Response) -> bytes:
        line: dict[str, object] = {"meta": response.meta.as_json()}
        if response.failure:
            line["error"] = error_json(response.failure)
        if response.notices:
            line["warnings"] = warnings_json(response.notices)
        return (response.payload or b"") + compact(line) + b"\n"

    def blocks(self, response: Response) -> Iterator[bytes]:
        yield from long_blocks(response)
        yield self.write(response.replace(body=None))


JSONL = JsonLines()


def as_document(values: Values) -> bytes:
    """Return the values as one JSON text."""
    in_object = values.style == "object"
    written = mark_member if in_object else mark_element
    joined = b",".join(written(item) if isinstance(item, Mark) else item for item in values.items)
    if in_object:
        return b"{" + joined + b"}"
    return joined if values.style == "bare" else b"[" + joined + b"]"


def as_lines(values: Values) -> bytes:
    """Return one value per line; for a document, one record per line."""
    if values.style == "object":
        return as_document(values) + b"\n"
    lines = (mark_object(item) if isinstance(item, Mark) else item for item in values.items)
    return b"".join(line + b"\n" for line in lines)


def mark_object(mark: Mark) -> bytes:
    """Return the mark as a line of JSON Lines."""
    return b"{" + mark_member(mark) + b"}"


def warnings_json(notices: Sequence[Notice]) -> list[dict[str, object]]:
    return [
        {name: value for name, value in notice.__dict__.items() if value is not None and name != "of_the_cut"}
        for notice in notices
    ]


def error_json(failure: Failure | None) -> dict[str, str] | None:
    if failure is None:
        return None
    return {name: value for name, value in failure.__dict__.items() if value}


def in_blocks(blocks: Iterator[bytes]) -> LongText:
    """Return blocks as one text."""
    scratch = Spool(SCRATCH_BYTES)
    for block in blocks:
        scratch.write(block)
    return LongText(scratch.into_text())


def long_blocks(response: Response) -> Iterator[bytes]:
    """Yield the payload of a response."""
    if response.body is None:
        return
    if isinstance(response.body, bytes):
        yield response.body
    else:
        yield from response.body.blocks()
