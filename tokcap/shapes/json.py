"""JSON (one document) and JSON Lines (a sequence of values, one per line or side by side)."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes.base import Changed, Sniffed
from tokcap.shapes.mismatch import treated_as_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.core.cut import Ask, Cost, Cut
    from tokcap.core.payload import Payload
    from tokcap.core.tokenizer import TokenMap
    from tokcap.shapes.base import FieldPath, RunFacts, Selected, Value


class JsonShape:
    """What both shapes have in common."""

    name: str
    # Whether the payload is a sequence of values.
    lines: bool
    mark_has_note = False
    search_option = "--pointer /PATH"

    def sniff(self, payload: Payload) -> Sniffed | None:
        raise NotImplementedError

    def confirm(self, payload: Payload) -> Sniffed:
        raise NotImplementedError

    def cut(self, payload: Payload, tokens: TokenMap, ask: Ask, cost: Cost) -> Cut:
        from tokcap.shapes.json_window import JsonWindow

        return JsonWindow(payload, tokens, ask, cost, lines=self.lines, shape=self.name).cut()

    def select(self, payload: Payload, paths: Sequence[FieldPath]) -> Selected | None:
        from tokcap.shapes.json_fields import select_members

        return select_members(payload, paths, self.name)

    def value_at(self, payload: Payload, pointer: str) -> Value:
        from tokcap.shapes.json_pointer import value_at

        return value_at(payload, pointer, lines=self.lines)

    def as_table(self, payload: Payload) -> Changed:
        from tokcap.shapes.json_rows import as_table

        payload.check(0, payload.size)
        return as_table(payload, self.name, lines=self.lines)

    def summarize(self, payload: Payload, facts: RunFacts) -> Iterator[str]:
        from tokcap.shapes.summary import json_lines

        return json_lines(payload, facts, self, lines=self.lines)


class Json(JsonShape):
    """One JSON document."""

    name = "json"
    lines = False

    def sniff(self, payload: Payload) -> Sniffed | None:
        """Recognize JSON, and JSON Lines too: one walk over the payload shows which of them it is."""
        from tokcap.shapes.json_sniff import is_endless_word, sniff_values

        return None if is_endless_word(payload) else sniff_values(payload)

    def confirm(self, payload: Payload) -> Sniffed:
        from tokcap.shapes.json_sniff import sniff_values

        found = sniff_values(payload)
        return found if found and found.shape == self.name else treated_as_text("JSON")


class JsonLines(JsonShape):
    """A sequence of JSON values."""

    name = "jsonl"
    lines = True

    def sniff(self, payload: Payload) -> Sniffed | None:
        """Recognize nothing: `Json` has recognized it already if it is JSON Lines."""
        return None

    def confirm(self, payload: Payload) -> Sniffed:
        from tokcap.shapes.json_sniff import sniff_values

        found = sniff_values(payload, bare_lines=True)
        if found is None:
            return treated_as_text("JSON Lines")
        return found if found.shape == self.name else Sniffed(self.name, total_count=1)


JSON = Json()
JSON_LINES = JsonLines()
