"""Decide whether a payload is JSON or JSON Lines. All of it must be valid."""

from __future__ import annotations

from tokcap.lean.plainjson import quoted
from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes.base import Sniffed
from tokcap.shapes.json_text.grammar import beginning_of_values, validated_value, validated_values
from tokcap.shapes.json_text.scanner import BYTE_ORDER_MARK, start_of_text
from tokcap.shapes.json_text.tree import ARRAY, Reader

if TYPE_CHECKING:
    from tokcap.core.payload import Payload
    from tokcap.shapes.json_text.scanner import Span, View

# This much of a payload is checked first, before the whole payload.
SAMPLE_BYTES = 1 << 16
# A large payload is checked faster by the compiled parser, so less of it is checked first.
SHORT_SAMPLE_BYTES = 1 << 13
# Below this size, checking the whole payload is faster than checking its beginning by the grammar.
SMALL_BYTES = 1 << 20
# From this size on, loading the compiled parser pays.
LARGE_BYTES = 2 << 20
# Up to this size, parsing takes less time than loading orjson.
LIGHT_BYTES = 1 << 18
# What a JSON text can begin with.
FIRST_SIGNS = b'{["-0123456789tfn'


def sniff_values(payload: Payload, *, bare_lines: bool = False) -> Sniffed | None:
    """Return JSON if all of it is one document, JSON Lines if it is a sequence of objects and arrays.

    A column of numbers is not evidence of JSON Lines, unless `bare_lines` are asked for.
    """
    place = first_sign(payload)
    sample_bytes = SAMPLE_BYTES if payload.size < LARGE_BYTES else SHORT_SAMPLE_BYTES
    sample = payload.read(place, min(place + sample_bytes, payload.size))
    # Most output ends here.
    if sample[:1] not in FIRST_SIGNS or not sample:
        return None
    many = False
    if payload.size > SMALL_BYTES:
        try:
            beginning = beginning_of_values(sample)
        except ValueError:
            return None
        many = len(beginning.values) + beginning.more > 1
        if many and not bare_lines and any(is_bare(sample, span) for span in beginning.values):
            return None
    if payload.size >= LARGE_BYTES:
        try:
            return index_values(payload, place, many=many)
        except ValueError as refused:
            # The parser is stricter than the grammar.
            payload.seek_points.clear()
            many = True
            if accepted := getattr(refused, "accepted", None):
                return walk_on(payload, *accepted, bare_lines=bare_lines)
    data = payload.view()
    payload.check(0, payload.size)
    if not many:
        try:
            document = parsed(data, place)
        except (ValueError, RecursionError):
            pass
        else:
            return Sniffed("json", total_count=count_records(document, data))
    return walk_values(data, bare_lines=bare_lines)


def index_values(payload: Payload, place: int, *, many: bool) -> Sniffed:
    """Return the shape of a large payload and build its index; `ValueError` if the parser refuses it."""
    # Smaller payloads do not load the parser.
    from tokcap.shapes.json_index import index_document, index_lines
    from tokcap.shapes.json_text.compiled import Refused

    accepted = None
    if not many:
        try:
            return Sniffed("json", total_count=index_document(payload, place).total_count)
        except Refused as refused:
            # The first of many values may be longer than the sample.
            accepted = refused.accepted
    begin = start_of_text(payload.read(0, len(BYTE_ORDER_MARK)))
    try:
        return Sniffed("jsonl", total_count=index_lines(payload, begin).total_count)
    except Refused as refused:
        refused.accepted = accepted
        raise


def is_endless_word(payload: Payload) -> bool:
    """Return whether it begins with a run of digits or letters that is longer than any number in JSON."""
    sample = payload.read(0, min(SAMPLE_BYTES, payload.size))
    return len(sample) == SAMPLE_BYTES and sample.isalnum()


def parsed(data: View, place: int) -> object:
    """Return the one document that begins at `place`."""
    if len(data) <= LIGHT_BYTES:
        from tokcap.lean.plainjson import loads

        return loads(data[place:].decode(), numbers=False)
    import orjson

    return orjson.loads(memoryview(data)[place:])


def walk_on(payload: Payload, place: int, inside: bytes, *, bare_lines: bool) -> Sniffed | None:
    """Return the same as `walk_values` if the compiled parser has accepted what is before `place`."""
    from tokcap.shapes.json_text.compiled import check_encoding

    data = payload.view()
    payload.check(0, payload.size)
    try:
        check_encoding(memoryview(data)[place:])
        _, end = validated_value(data, place, inside=inside)
    except ValueError:
        return None
    return walk_values(data, bare_lines=bare_lines, first_end=end)


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
    for place in range(0, payload.size, SAMPLE_BYTES):
        block = payload.read(place, min(place + SAMPLE_BYTES, payload.size))
        begun = (block if place else block.removeprefix(BYTE_ORDER_MARK)).lstrip(b" \t\r\n")
        if begun:
            return place + len(block) - len(begun)
    return payload.size


def count_records(document: object, data: View) -> int | None:
    """Return the length of a document that is an array, or has one array at its top."""
    if isinstance(document, list):
        return len(document)
    if isinstance(document, dict):
        arrays = [key for key, value in document.items() if isinstance(value, list)]
        # The parser drops the first of two equal keys.
        if len(arrays) == 1 and occurs_once(arrays[0], data):
            return len(document[arrays[0]])
        return count_in_source(data) if arrays else None
    return None


def occurs_once(key: str, data: View) -> bool:
    """Return whether a key is in the source exactly once, without escapes."""
    try:
        text = quoted(key)
    except UnicodeEncodeError:
        # Half a surrogate pair is always escaped.
        return False
    place = data.find(text)
    return place >= 0 and data.find(text, place + 1) < 0


def count_in_source(data: View) -> int | None:
    """Return the same as `count_records`, from the source."""
    reader = Reader(data, lines=False)
    if reader.root.kind == ARRAY:
        reader.pass_over(len(data))
        return reader.root.count
    reader.read_top()
    arrays = [node for node in reader.root.children if node.kind == ARRAY]
    return arrays[0].count if len(arrays) == 1 else None
