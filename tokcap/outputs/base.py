"""The protocol of the forms: a form turns the parts of a cut into the bytes of an answer."""

from __future__ import annotations

from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Protocol

    from tokcap.core.cut import LongValues, Part
    from tokcap.core.payload import LongText
    from tokcap.core.response import Response

    class Form(Protocol):
        """How an answer is written."""

        # Whether `meta`, errors and warnings are part of the answer. Without an envelope the payload is
        # passed on unchanged, and warnings go to stderr.
        has_envelope: bool
        # Whether each record is a line of its own. If not, a list of records is one JSON array.
        has_record_lines: bool
        # A session that has less left refuses the call: no useful answer of this form fits.
        least_tokens: int

        def compose(self, parts: Sequence[Part]) -> bytes:
            """Return the payload as it appears in the answer."""
            ...

        def compose_long(self, values: LongValues) -> LongText:
            """Return the same for values that are too long to be copied."""
            ...

        def compose_count(self, tokens: int) -> bytes | None:
            """Return the payload of `--token-count`; None if the number is in `meta` only."""
            ...

        def write(self, response: Response) -> bytes:
            """Return all bytes for stdout."""
            ...

        def blocks(self, response: Response) -> Iterator[bytes]:
            """Yield all bytes for stdout, if the payload is long."""
            ...
