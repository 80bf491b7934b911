"""What is read with the help of an index is what is read without it."""

import json

import pytest

from tests.support.long_documents import ORDINARY
from tests.support.payloads import payload_of
from tests.support.tiers import as_nightly
from tokcap.errors import NotFound
from tokcap.shapes import SHAPES, json_outline, json_record_outline
from tokcap.shapes.base import RunFacts
from tokcap.shapes.json_index import DocumentIndex, index_lines
from tokcap.shapes.json_pieces import borders_of
from tokcap.shapes.json_pointer import value_at
from tokcap.shapes.json_text.grammar import validated_values
from tokcap.shapes.json_text.scanner import compact, elements
from tokcap.shapes.json_whole import whole_records


def indexed(data: bytes, shape: str):
    """A payload with an index that a large one would have."""
    payload = payload_of(data)
    if shape == "json":
        DocumentIndex(payload, 0, 200).build()
    else:
        index_lines(payload, 0, 200)
    assert payload.seek_points.bytes
    return payload


# Records that are alike, and some that are not: other orders, keys that are missing, or twice, or escaped.
ODD_RECORDS = [
    '{"id":1,"name":"a","tags":["x", "y"],"in":{"id":7}}',
    '{"id": 2, "name": "tab\\t \\"q\\"", "tags": [], "in": {}}',
    '{"name":null,"tags":[1.10,1E400],"late":true}',
    '{"in":{"id":[{}]},"id":"\\u0041"}',
    "{}",
]
SAME_RECORDS = [f'{{"id":{n},"name":"n {n}","tags":["x"],"in":{{"id":[]}}}}' for n in range(40)]
SEQUENCES = {
    "alike": SAME_RECORDS,
    "with spaces": [record.replace(",", " , ").replace(":", ": ") for record in SAME_RECORDS],
    "not alike": SAME_RECORDS + ODD_RECORDS * 6 + SAME_RECORDS,
    "a key twice": [*SAME_RECORDS, '{"id":1,"name":"a","id":2}', *SAME_RECORDS],
    "another order": [*SAME_RECORDS, '{"name":"a","id":1}', *SAME_RECORDS],
    "an escaped key": [*SAME_RECORDS, '{"\\u0069d":1,"name":2}', *SAME_RECORDS],
    "not all objects": [*SAME_RECORDS, "[1]", *SAME_RECORDS],
    "one member": [f'{{"in":{{"id":{n},"name":[]}}}}' for n in range(40)],
    "a late column": [*SAME_RECORDS, '{"id":1,"more":[{"a": 1}]}'],
    "strings of JSON": ['{"id":"null","name":"{","tags":"[","b":"\\""}' for _ in range(60)],
    "nulls": ['{"id":null,"name":null,"tags":null}', '{"id":null,"name":"null","tags":null}'] * 30,
}


def around_each(places) -> list:
    """Return parameters: all sequences in the first place, the odd ones in the others, others nightly."""
    first, *_ = places
    everyday = {"not alike", "a key twice", "an escaped key"}
    pairs = [(name, place) for place in places for name in SEQUENCES]
    return [pair if pair[1] == first or pair[0] in everyday else as_nightly(pair) for pair in pairs]


def text_of(shape: str, values: list[str]) -> bytes:
    return ("[" + ",\n".join(values) + "]\n" if shape == "json" else "\n".join(values)).encode()


TEXTS = {
    f"{shape}, {name}": (shape, text_of(shape, values))
    for shape in ("json", "jsonl")
    for name, values in SEQUENCES.items()
}


@pytest.mark.parametrize(("shape", "data"), TEXTS.values(), ids=TEXTS)
def test_fields_and_tables_are_the_same_with_an_index_and_without(shape, data):
    for paths in ([("id",), ("name",)], [("name",), ("nothing",)], [("in", "id")], [("late",)]):
        plain = SHAPES[shape].select(payload_of(data), paths)
        found = SHAPES[shape].select(indexed(data, shape), paths)
        assert found.data == plain.data
        assert (set(found.found), [*found.names]) == (set(plain.found), [*plain.names])
    plain, found = SHAPES[shape].as_table(payload_of(data)), SHAPES[shape].as_table(indexed(data, shape))
    assert (found.data, found.shape) == (plain.data, plain.shape)


@pytest.mark.parametrize(("shape", "data"), TEXTS.values(), ids=TEXTS)
def test_an_outline_is_the_same_with_an_index_and_without(shape, data):
    payload = indexed(data, shape)
    found = json_record_outline.read(payload, borders_of(payload, shape), shape)
    assert [*json_outline.lines(found)] == [
        *json_outline.lines(json_outline.read(data, many=shape == "jsonl"))
    ]


@pytest.mark.parametrize(("shape", "data"), TEXTS.values(), ids=TEXTS)
def test_all_records_are_written_as_they_are_without_an_index(shape, data):
    records = whole_records(indexed(data, shape), shape)
    spans = [*validated_values(data)]
    if shape == "json":
        spans = [*elements(data, 0)]
    values = [compact(data[start:end]) for start, end in spans]
    assert b"".join(records.document()) == b"[" + b",".join(values) + b"]"
    assert b"".join(records.lines()) == b"".join(value + b"\n" for value in values)
    assert records.count == len(values)


@pytest.mark.parametrize("text", ORDINARY)
def test_a_pointer_finds_the_same_value_with_an_index_and_without(text):
    data = text.encode()
    payload = payload_of(data)
    DocumentIndex(payload, 0, 160).build()
    top = json.loads(text)
    path = ""
    pointers = [f"/{n}" for n in (0, 1, 17, 39, len(top) - 1)] if isinstance(top, list) else []
    if isinstance(top, dict):
        path = "/rows" if "rows" in top else "/page/rows"
        pointers = [f"{path}/{n}/sub/0/id" for n in (0, 1, 23, 49)] + [f"/{[*top][-1]}"]
    for pointer in pointers:
        assert value_at(payload, pointer, lines=False) == value_at(payload_of(data), pointer, lines=False)
    beyond = f"{path}/5000"
    with pytest.raises(NotFound) as found:
        value_at(payload, beyond, lines=False)
    with pytest.raises(NotFound) as plain:
        value_at(payload_of(data), beyond, lines=False)
    assert str(found.value) == str(plain.value)


@pytest.mark.parametrize("text", [text for text in ORDINARY if text.startswith("{")])
def test_an_object_with_records_is_written_as_it_is_without_an_index(text):
    payload = payload_of(text.encode())
    DocumentIndex(payload, 0, 160).build()
    whole = whole_records(payload, "json")
    assert b"".join(whole.document()) == compact(text.encode())
    assert b"".join(whole.lines()) == compact(text.encode()) + b"\n"
    assert whole.count == sum(len(value) for value in json.loads(text).values() if isinstance(value, list))


BESIDE = ['"x":1', '"x":[1,2]', '"x":[{"a":1}]', '"x":{"y":[{}]}', '"x":"' + 500 * "y" + '"']


@pytest.mark.parametrize(("name", "other"), around_each(BESIDE))
def test_a_table_of_records_inside_of_an_object_is_the_same_with_an_index_and_without(name, other):
    data = f'{{"n":null, "rows": [{", ".join(SEQUENCES[name])}], {other}}}'.encode()
    payload = payload_of(data)
    DocumentIndex(payload, 0, 200).build()
    found, plain = SHAPES["json"].as_table(payload), SHAPES["json"].as_table(payload_of(data))
    assert (found.data, found.shape, found.notices) == (plain.data, plain.shape, plain.notices)


# Documents around records, as programs print them. `%s` is where the records are.
AROUND = {
    "rows and a total": '{"rows": [%s], "total": 3}',
    "a list of things": '{"apiVersion": "v1",\n "items": [%s],\n "kind": "List", "metadata": {"name": ""}}\n',
    "deep inside": '{"status":"ok","data":{"kind":"x","result":[%s],"name":null},"id":[1,2],"in":{"id":[3]}}',
    "an array after it": '{"rows":[%s],"id":[{"name":1}]}',
    "a key twice": '{"rows":[{"id":1}],"rows":[%s],"rows":{"id":[{"id":2,"name":{}}]}}',
}
FIELDS = (
    [("rows", "id"), ("rows", "name"), ("total",)],
    [("items", "in", "id"), ("items", "tags"), ("kind",), ("metadata", "name")],
    [("data", "result", "in", "id"), ("id",)],
    [("data",)],
    [("data", "result"), ("rows",)],
    [("nothing",), ("rows", "nothing"), ("data", "result", "name", "nothing"), ("items", "in", "nothing")],
    [("in", "id"), ("id", "name"), ("rows", "in", "id"), ("rows", "in", "id", "name"), ("rows", "more", "a")],
)


def document_in(around: str, values: list[str]) -> tuple[bytes, object]:
    data = (AROUND[around] % " , ".join(values)).encode()
    payload = payload_of(data)
    DocumentIndex(payload, 0, 200).build()
    assert payload.seek_points.bytes
    return data, payload


def assert_same_without_index(data: bytes, payload) -> None:
    for paths in FIELDS:
        plain, found = SHAPES["json"].select(payload_of(data), paths), SHAPES["json"].select(payload, paths)
        assert found.data == plain.data
        assert (set(found.found), [*found.names]) == (set(plain.found), [*plain.names])
    plain, found = SHAPES["json"].as_table(payload_of(data)), SHAPES["json"].as_table(payload)
    assert (found.data, found.shape, found.notices) == (plain.data, plain.shape, plain.notices)
    whole = whole_records(payload, "json")
    assert b"".join(whole.document()) == compact(data)
    facts = RunFacts()
    assert [*SHAPES["json"].summarize(payload, facts)] == [*SHAPES["json"].summarize(payload_of(data), facts)]


@pytest.mark.parametrize(("name", "around"), around_each(AROUND))
def test_records_inside_of_a_document_are_read_as_they_are_without_an_index(name, around):
    assert_same_without_index(*document_in(around, SEQUENCES[name]))


@pytest.mark.parametrize(
    ("name", "around"),
    around_each(['{"name":"x",\n  "packages": {%s}\n, "id":1}', "{%s}", '{"a":{"b":{%s}}}']),
)
def test_an_object_of_many_members_is_read_as_it_is_without_an_index(name, around):
    # The beginning that decides what the main container is takes up to a quarter.
    values = SEQUENCES[name] * 5
    keys = [f"node_modules/p{number}" for number in range(len(values))]
    if name == "a key twice":
        keys[3] = keys[2]
    if name == "an escaped key":
        keys[3] = "\\u0069d"
    members = [f'\n "{key}": {value}' for key, value in zip(keys, values, strict=True)]
    data = (around % ",".join(members)).encode()
    payload = payload_of(data)
    DocumentIndex(payload, 0, 200).build()
    assert payload.seek_points.bytes
    assert_same_without_index(data, payload)
    for paths in ([("packages", "node_modules/p7", "in", "id")], [("packages",)], [("node_modules/p9",)]):
        plain, found = SHAPES["json"].select(payload_of(data), paths), SHAPES["json"].select(payload, paths)
        assert (found.data, set(found.found)) == (plain.data, set(plain.found))
    for pointer in ("/packages/node_modules~1p7/id", "/node_modules~1p7/id", "/a/b/node_modules~1p7/id"):
        answers = []
        for one in (payload, payload_of(data)):
            try:
                answers.append(value_at(one, pointer, lines=False))
            except NotFound as error:
                answers.append(str(error))
        assert answers[0] == answers[1]
