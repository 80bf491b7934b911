"""Plain text: lines are records. It has no fields and no values to point at."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes import text_window

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.core.cut import Ask, Cost, Cut
    from tokcap.core.payload import Payload
    from tokcap.core.tokenizer import TokenMap
    from tokcap.shapes.base import Changed, FieldPath, RunFacts, Selected, Sniffed, Value


class Text(Record):
    """The shape of every output that is nothing else."""

    name: str = "text"
    mark_has_note: bool = True
    search_option: str = "--grep REGEX"

    def sniff(self, payload: Payload) -> Sniffed | None:
        return self.confirm(payload)

    def confirm(self, payload: Payload) -> Sniffed:
        from tokcap.shapes.base import Sniffed

        return Sniffed(self.name)

    def cut(self, payload: Payload, tokens: TokenMap, ask: Ask, cost: Cost) -> Cut:
        return text_window.cut(payload, tokens, ask, cost)

    def select(self, payload: Payload, paths: Sequence[FieldPath]) -> Selected | None:
        return None

    def value_at(self, payload: Payload, pointer: str) -> Value:
        from tokcap.errors import NotFound

        raise NotFound("--pointer needs JSON or a table, and this stored output is text; use --grep")

    def as_table(self, payload: Payload) -> Changed:
        from tokcap.shapes.base import Changed
        from tokcap.shapes.binary import is_binary
        from tokcap.shapes.folding import folded

        return Changed(payload.read(0, payload.size) if is_binary(payload) else folded(payload), self.name)

    def summarize(self, payload: Payload, facts: RunFacts) -> Iterator[str]:
        from tokcap.shapes.summary import text_lines

        return text_lines(payload, facts, self)


TEXT = Text()
