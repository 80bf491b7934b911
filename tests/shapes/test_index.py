"""The index of a large document says what reading every value says, and is made of valid documents only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.json_documents import CONTAINERS, DOCUMENTS, records_in
from tests.support.long_documents import ORDINARY
from tests.support.payloads import payload_of
from tests.support.tiers import as_nightly, examples
from tokcap.core.seek_points import ShapeSeekPoints
from tokcap.shapes import json as json_shape
from tokcap.shapes import sniff
from tokcap.shapes.json_compiled import Refused
from tokcap.shapes.json_grammar import validated_values
from tokcap.shapes.json_index import index_document, index_lines
from tokcap.shapes.json_parts import LIGHT_BYTES
from tokcap.shapes.json_reader import Reader

# Small pieces make a small document a long one.
PIECE_BYTES = 32


def is_valid(data: bytes) -> bool:
    try:
        return len([*validated_values(data)]) == 1
    except ValueError:
        return False


def state_after(data: bytes, byte: int, seek_points, *, lines: bool):
    """The containers that are open at a byte, and the next value."""
    reader = Reader(data, lines=lines, seek_points=seek_points)
    reader.pass_over(byte)
    path, node = [], reader.root
    while True:
        path.append((node.kind, node.key, node.begin, node.start, node.index, node.count))
        if not node.children:
            return path, reader.next_begin
        node = node.children[-1]


def check_seek_points(payload, data: bytes, shape: str) -> None:
    """From every seek point reading goes on as if everything before it had been read."""
    lines = shape == "jsonl"
    for place in payload.seek_points.bytes:
        points = ShapeSeekPoints(payload.seek_points, shape, data)
        assert points.before(place)[0] == place
        for byte in (place, place + 1, place + PIECE_BYTES):
            assert state_after(data, byte, points, lines=lines) == state_after(data, byte, None, lines=lines)


@pytest.mark.parametrize("text", ORDINARY)
def test_an_ordinary_document_is_indexed_piece_by_piece(text):
    data = text.encode()
    payload = payload_of(data)
    # Long enough for an element, so that each piece has one.
    assert index_document(payload, 0, 160) == records_in(data)
    assert len(payload.seek_points.bytes) > 2
    check_seek_points(payload, data, "json")


@examples(12)
@given(st.lists(DOCUMENTS, min_size=4, max_size=20), st.sampled_from([",", " ,\n"]), st.data())
def test_the_index_of_any_document_says_what_its_source_says(values, comma, drawn):
    text = f"[{comma.join(values)}]"
    if drawn.draw(st.booleans()):
        text = f'{{"a":[],"rows":{text},"b":{drawn.draw(DOCUMENTS)}}}'
    data = text.encode("utf-8", "surrogatepass")
    payload = payload_of(data)
    try:
        found = index_document(payload, 0, PIECE_BYTES)
    except Refused:
        # Half a surrogate pair, as an escape or as it is.
        assert b"\\ud" in data.lower() or not is_valid(data)
        return
    assert found == records_in(data)
    check_seek_points(payload, data, "json")


@examples(25)
@given(st.lists(DOCUMENTS, min_size=4, max_size=12), st.data())
def test_no_damaged_document_is_accepted(values, drawn):
    data = bytearray(f"[{','.join(values)}]".encode("utf-8", "surrogatepass"))
    for _ in range(drawn.draw(st.integers(1, 3))):
        place = drawn.draw(st.integers(0, len(data) - 1))
        if drawn.draw(st.booleans()):
            del data[place]
        else:
            data[place] = drawn.draw(st.sampled_from(b'[]{},:"\\ 0.e\xff'))
        if not data:
            return
    try:
        index_document(payload_of(bytes(data)), 0, PIECE_BYTES)
    except Refused:
        return
    assert is_valid(bytes(data))


@examples(12)
@given(st.lists(CONTAINERS, min_size=1, max_size=20))
def test_the_index_of_lines_counts_the_values_and_knows_where_they_begin(values):
    data = "\n".join(values).encode("utf-8", "surrogatepass")
    payload = payload_of(data)
    try:
        found = index_lines(payload, 0, PIECE_BYTES)
    except Refused:
        return
    assert found == len([*validated_values(data)])
    check_seek_points(payload, data, "jsonl")


@pytest.mark.parametrize("line", [b"12", b'"a"', b"{}12{}", b"[1,\n", b"{}]"])
def test_lines_that_are_not_objects_or_arrays_are_left_to_the_grammar(line):
    with pytest.raises(Refused):
        index_lines(payload_of(b'{"a":1}\n' * 20 + line + b'\n{"a":1}\n'), 0, PIECE_BYTES)


def large(*elements: bytes) -> bytes:
    filler = b'{"id":1,"text":"' + b"x" * 200 + b'"}'
    return b"[" + b",".join([filler] * (LIGHT_BYTES // 100) + [*elements] + [filler]) + b"]"


@pytest.mark.parametrize(
    ("shape", "element"),
    [
        ("json", b'{"id":2}'),
        ("json", rb'"\ud800"'),
        ("json", b"[" * 100_000 + b"]" * 100_000),
        ("json", b"1E400"),
        ("text", b'"\xff"'),
        ("text", b"1,"),
        ("text", b"NaN"),
        ("text", b'{"id":2'),
        ("text", b"[" * 100_000 + b"]" * 99_999),
    ],
)
def test_a_large_document_is_taken_for_what_a_small_one_is_taken_for(shape, element):
    found = sniff(payload_of(large(element)), "auto")
    assert found.shape == shape
    assert found.total_count == (LIGHT_BYTES // 100 + 2 if shape == "json" else None)


def test_large_json_lines_are_counted_whatever_the_length_of_the_first_line():
    lines = [b'{"a":"' + b"x" * 20_000 + b'"}', *[b'{"a":[1,2]}'] * 200_000]
    found = sniff(payload_of(b"\n".join(lines)), "auto")
    assert (found.shape, found.total_count) == ("jsonl", len(lines))


RECORDS = ",".join(f'{{"id": {n}, "name": "n {n}", "in": [{n}, {{}}]}}' for n in range(1800)).encode()
DEEP = b"[" * 3000 + b"]" * 3000
ENDINGS = {
    "whole": b"]}",
    "cut off": b"",
    "cut in a string": b',{"id": "',
    "closed twice": b"]}}",
    "a wrong sign": b"}}",
    "another value": b']}\n{"a":1}',
    "a bare value": b"]}\n5",
    "half a pair": b',"\\ud800"]}',
    "deep": b"," + DEEP + b"]}",
    "no UTF-8": b',"\xff"]}',
    "a comma too many": b",]}",
    "a bad number": b'],"n":01}',
    "more members": b'],"n":[1,2],"m":{}}',
    "records after half a pair": b',"\\ud800",' + RECORDS + b"]}",
}


# Only these endings are about lines.
ABOUT_LINES = ("whole", "another value", "a bare value")


@pytest.mark.parametrize(
    ("ending", "bare_lines"),
    [
        *((ending, False) for ending in ENDINGS),
        *((ending, True) if ending in ABOUT_LINES else as_nightly((ending, True)) for ending in ENDINGS),
    ],
)
def test_a_document_that_the_parser_refuses_is_what_the_grammar_says(ending, bare_lines, monkeypatch):
    """Only what comes after the last piece that was accepted is read again."""
    data = b'{"a":1,"rows":[' + RECORDS + ENDINGS[ending]
    found = []
    for large_bytes in (1 << 10, 1 << 40):
        monkeypatch.setattr(json_shape, "LIGHT_BYTES", large_bytes)
        found.append(json_shape.sniff_values(payload_of(data), bare_lines=bare_lines))
    assert found[0] == found[1]
