"""`-o json`: one envelope. Its five keys, in this order, are a contract."""

from __future__ import annotations

from tokcap import exits
from tokcap.core.cut import Kept, Values
from tokcap.core.mark import quoted
from tokcap.forms import LEAST_TOKENS
from tokcap.forms.envelope import error_json, warnings_json
from tokcap.forms.values import as_document
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.core.cut import LongValues, Part
    from tokcap.core.response import Response
    from tokcap.core.scratch import LongText

# The most tokens that an envelope takes without its data, in most cases; and what the smallest one takes.
ENVELOPE_TOKENS = 600
SMALLEST_ENVELOPE_TOKENS = 110
# Stands for a payload that is written block by block. It is the first place in an envelope with these bytes.
PLACEHOLDER = b"\0"


class Json:
    """Structured payload as itself; text as `["…"]`, and `["…", "[TRUNCATED]"]` when cut."""

    has_envelope = True
    has_record_lines = False
    extra_tokens = ENVELOPE_TOKENS
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
        # Most answers are short, and do not load this.
        from tokcap.forms.long_payload import in_blocks

        return in_blocks(values.document())

    def compose_count(self, tokens: int) -> None:
        return None

    def write(self, response: Response) -> bytes:
        from tokcap.lean.plainjson import compact

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
        from tokcap.forms.long_payload import long_blocks

        # The five keys are written in order, and the payload is one of them.
        before, after = self.write(response.but(body=PLACEHOLDER)).split(PLACEHOLDER, 1)
        yield before
        yield from long_blocks(response)
        yield after


JSON = Json()
