"""`-o jsonl`: one JSON value per line, then a line with `meta`."""

from __future__ import annotations

from tokcap.core.cut import Mark, Values
from tokcap.core.mark import quoted
from tokcap.forms import LEAST_TOKENS
from tokcap.forms.envelope import error_json, warnings_json
from tokcap.forms.json import ENVELOPE_TOKENS, SMALLEST_ENVELOPE_TOKENS
from tokcap.forms.values import as_lines, mark_object
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.core.cut import LongValues, Part
    from tokcap.core.response import Response
    from tokcap.core.scratch import LongText


class JsonLines:
    """Text becomes one string per line, each with its line end, so that the strings join to the text."""

    has_envelope = True
    has_record_lines = True
    extra_tokens = ENVELOPE_TOKENS
    least_tokens = LEAST_TOKENS + SMALLEST_ENVELOPE_TOKENS

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
        # Most answers are short, and do not load this.
        from tokcap.forms.long_payload import in_blocks

        return in_blocks(values.lines())

    def compose_count(self, tokens: int) -> None:
        return None

    def write(self, response: Response) -> bytes:
        from tokcap.lean.plainjson import compact

        line: dict[str, object] = {"meta": response.meta.as_json()}
        if response.failure:
            line["error"] = error_json(response.failure)
        if response.notices:
            line["warnings"] = warnings_json(response.notices)
        return (response.payload or b"") + compact(line) + b"\n"

    def blocks(self, response: Response) -> Iterator[bytes]:
        from tokcap.forms.long_payload import long_blocks

        yield from long_blocks(response)
        yield self.write(response.but(body=None))


JSONL = JsonLines()
