"""JSON (one document) and JSON Lines (a sequence of values, one per line or side by side): what is which.

All of a payload must be valid.
"""

from __future__ import annotations

from tokcap.shapes.base import Changed, Sniffed, treated_as_text
from tokcap.shapes.json_grammar import beginning_of_values, validated_value, validated_values
from tokcap.shapes.json_parts import LIGHT_BYTES
from tokcap.shapes.json_reader import ARRAY, Reader
from tokcap.shapes.json_scanner import BYTE_ORDER_MARK, start_of_text
from tokcap.startup.plainjson import loads
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.core.cut import Ask, Cost, Cut, LongValues
    from tokcap.core.payload import Payload
    from tokcap.core.tokenizer import TokenMap
    from tokcap.shapes.base import FieldPath, RunFacts, Selected, Value
    from tokcap.shapes.json_scanner import Span, View


class Json:
    """One JSON document."""

    name = "json"
    # Whether the payload is a sequence of values.
    lines = False
    mark_has_note = False
    is_parsed = True
    search_option = "pointer /PATH"

    def sniff(self, payload: Payload) -> Sniffed | None:
        """Recognize JSON, and JSON Lines too: one walk over the payload shows which of them it is."""
        return None if is_endless_word(payload) else sniff_values(payload)

    def confirm(self, payload: Payload) -> Sniffed:
        found = sniff_values(payload)
        return found if found and found.shape == self.name else treated_as_text("JSON")

    def cut(self, payload: Payload, tokens: TokenMap, ask: Ask, cost: Cost) -> Cut:
        from tokcap.shapes.json_window import JsonWindow

        return JsonWindow(payload, tokens, ask, cost, lines=self.lines, shape=self.name).cut()

    def whole(self, payload: Payload) -> LongValues | None:
        from tokcap.shapes.json_parts import opened
        from tokcap.shapes.long_values import LongDocument, LongJson

        parts, main = opened(payload, lines=self.lines)
        if main is not None:
            return LongJson(main, parts)
        return None if self.lines else LongDocument(payload)

    def select(self, payload: Payload, paths: Sequence[FieldPath]) -> Selected | None:
        from tokcap.shapes.json_fields import select_members

        return select_members(payload, paths, lines=self.lines)

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


class JsonLines(Json):
    """A sequence of JSON values."""

    name = "jsonl"
    lines = True

    def sniff(self, payload: Payload) -> Sniffed | None:
        """Recognize nothing: `Json` has recognized it already if it is JSON Lines."""
        return None

    def confirm(self, payload: Payload) -> Sniffed:
        found = sniff_values(payload, bare_lines=True)
        if found is None:
            return treated_as_text("JSON Lines")
        return found if found.shape == self.name else Sniffed(self.name, total_count=1)


JSON = Json()
JSON_LINES = JsonLines()


# This much of a payload is checked first, before the whole payload.
SAMPLE_BYTES = 1 << 13
# A run of letters or digits of this length is no number or word of JSON.
ENDLESS_BYTES = 1 << 16
# What a JSON text can begin with.
FIRST_SIGNS = b'{["-0123456789tfn'


def sniff_values(payload: Payload, *, bare_lines: bool = False) -> Sniffed | None:
    """Return JSON if all of it is one document, JSON Lines if it is a sequence of objects and arrays.

    A column of numbers is not evidence of JSON Lines, unless `bare_lines` are asked for.
    """
    place = first_sign(payload)
    sample = payload.read(place, min(place + SAMPLE_BYTES, payload.size))
    # Most output ends here.
    if sample[:1] not in FIRST_SIGNS or not sample:
        return None
    if payload.size > LIGHT_BYTES:
        return sniff_long(payload, place, sample, bare_lines=bare_lines)
    data = payload.view()
    payload.check(0, payload.size)
    try:
        # Numbers may have more digits than Python converts.
        document = loads(data[place:].decode(), numbers=False)
    except (ValueError, RecursionError):
        return walk_values(data, bare_lines=bare_lines)
    return Sniffed("json", total_count=count_records(document))


def sniff_long(payload: Payload, place: int, sample: bytes, *, bare_lines: bool) -> Sniffed | None:
    """Return the same for a payload that is checked by the compiled parser, and build its index."""
    try:
        beginning = beginning_of_values(sample)
    except ValueError:
        return None
    many = len(beginning.values) + beginning.more > 1
    if many and not bare_lines and any(is_bare(sample, span) for span in beginning.values):
        return None
    # Smaller payloads do not load the parser.
    from tokcap.shapes.json_compiled import Refused, check_encoding
    from tokcap.shapes.json_index import index_document, index_lines

    accepted = None
    if not many:
        try:
            return Sniffed("json", total_count=index_document(payload, place))
        except Refused as refused:
            # The first of many values may be longer than the sample.
            accepted = refused.accepted
    try:
        begin = start_of_text(payload.read(0, len(BYTE_ORDER_MARK)))
        return Sniffed("jsonl", total_count=index_lines(payload, begin))
    except Refused:
        # The parser is stricter than the grammar.
        payload.seek_points.clear()
    data = payload.view()
    payload.check(0, payload.size)
    first_end = None
    if accepted:
        place, inside = accepted
        try:
            check_encoding(memoryview(data)[place:])
            _, first_end = validated_value(data, place, inside=inside)
        except ValueError:
            return None
    return walk_values(data, bare_lines=bare_lines, first_end=first_end)


def is_endless_word(payload: Payload) -> bool:
    """Return whether it begins with a run of digits or letters that is longer than any number in JSON."""
    sample = payload.read(0, min(ENDLESS_BYTES, payload.size))
    return len(sample) == ENDLESS_BYTES and sample.isalnum()


def walk_values(data: View, *, bare_lines: bool, first_end: int | None = None) -> Sniffed | None:
    """Return the same as `sniff_values`, by walking over the whole payload value by value.

    `first_end`: the first value is a container that ends there, and is valid.
    """
    count, bare = int(first_end is not None), False
    try:
        for span in validated_values(data, first_end):
            count += 1
            bare = bare or is_bare(data, span)
            if bare and count > 1 and not bare_lines:
                return None
    except ValueError:
        return None
    if count == 1:
        return Sniffed("json", total_count=count_in_source(data))
    return Sniffed("jsonl", total_count=count) if count else None


def is_bare(data: View, span: Span) -> bool:
    """Return whether a value is a scalar."""
    return data[span[0]] not in b"{["


def first_sign(payload: Payload) -> int:
    """Return the first position after a byte order mark and blanks; the end if there is nothing."""
    for place in range(0, payload.size, ENDLESS_BYTES):
        block = payload.read(place, min(place + ENDLESS_BYTES, payload.size))
        begun = (block if place else block.removeprefix(BYTE_ORDER_MARK)).lstrip(b" \t\r\n")
        if begun:
            return place + len(block) - len(begun)
    return payload.size


def count_records(document: object) -> int | None:
    """Return the length of a document that is an array, or has one array at its top."""
    if isinstance(document, list):
        return len(document)
    values = document.values() if isinstance(document, dict) else ()
    arrays = [value for value in values if isinstance(value, list)]
    return len(arrays[0]) if len(arrays) == 1 else None


def count_in_source(data: View) -> int | None:
    """Return the same as `count_records`, from the source."""
    reader = Reader(data, lines=False)
    if reader.root.kind == ARRAY:
        reader.pass_over(len(data))
        return reader.root.count
    reader.read_top()
    arrays = [node for node in reader.root.children if node.kind == ARRAY]
    return arrays[0].count if len(arrays) == 1 else None
