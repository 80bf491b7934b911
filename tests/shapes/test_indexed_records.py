"""What is read with the help of an index is what is read without it."""

import json

import pytest

from tests.support.long_documents import ORDINARY
from tests.support.payloads import payload_of
from tests.support.tiers import as_nightly
from tokcap.errors import NotFound
from tokcap.shapes import SHAPES, json_parts
from tokcap.shapes.base import RunFacts
from tokcap.shapes.json_compiled import CompiledParts
from tokcap.shapes.json_grammar import validated_values
from tokcap.shapes.json_index import index_document, index_lines, main_container
from tokcap.shapes.json_pointer import value_at
from tokcap.shapes.json_scanner import compact, elements
from tokcap.shapes.long_values import LongJson


@pytest.fixture(autouse=True)
def compiled_parser_for_an_index(monkeypatch):
    """Divide small texts with the compiled parser too, if they have an index."""
    monkeypatch.setattr(json_parts, "LIGHT_BYTES", 100)


def indexed(data: bytes, shape: str):
    """A payload with an index that a large one would have."""
    payload = payload_of(data)
    if shape == "json":
        index_document(payload, 0, 200)
    else:
        index_lines(payload, 0, 200)
    assert payload.seek_points.bytes
    return payload


def views(payload, shape: str, fields) -> list:
    """What a payload is shown as: fields, a table, an outline."""
    found = []
    for paths in fields:
        selected = SHAPES[shape].select(payload, paths)
        found.append((bytes(selected.data), set(selected.found), set(selected.names)))
    table = SHAPES[shape].as_table(payload)
    return [*found, (bytes(table.data), table.shape, table.notices), outline(payload, shape)]


def outline(payload, shape: str) -> list[str]:
    return [*SHAPES[shape].summarize(payload, RunFacts())]


def assert_same_without_index(payload, shape: str, fields, monkeypatch) -> None:
    """The same is shown with an index and a compiled parser as with the scanner alone."""
    found = views(payload, shape, fields)
    monkeypatch.setattr(json_parts, "LIGHT_BYTES", 1 << 30)
    assert views(payload_of(payload.view()), shape, fields) == found
    monkeypatch.undo()


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


SOME_FIELDS = ([("id",), ("name",)], [("name",), ("nothing",)], [("in", "id")], [("late",)])


@pytest.mark.parametrize(("shape", "data"), TEXTS.values(), ids=TEXTS)
def test_records_are_shown_in_the_same_way_with_an_index_and_without(shape, data, monkeypatch):
    assert_same_without_index(indexed(data, shape), shape, SOME_FIELDS, monkeypatch)


@pytest.mark.parametrize(("shape", "data"), TEXTS.values(), ids=TEXTS)
def test_all_records_are_written_as_they_are_without_an_index(shape, data):
    records = LongJson(main_container(indexed(data, shape), shape), CompiledParts())
    spans = [*validated_values(data)]
    if shape == "json":
        spans = [*elements(data, 0)]
    values = [compact(data[start:end]) for start, end in spans]
    assert b"".join(records.document()) == b"[" + b",".join(values) + b"]"
    assert b"".join(records.lines()) == b"".join(value + b"\n" for value in values)


@pytest.mark.parametrize("text", ORDINARY)
def test_a_pointer_finds_the_same_value_with_an_index_and_without(text):
    data = text.encode()
    payload = payload_of(data)
    index_document(payload, 0, 160)
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


@pytest.mark.parametrize(("name", "around"), around_each(AROUND))
def test_records_inside_of_a_document_are_read_as_they_are_without_an_index(name, around, monkeypatch):
    data = (AROUND[around] % " , ".join(SEQUENCES[name])).encode()
    payload = indexed(data, "json")
    whole = LongJson(main_container(payload, "json"), CompiledParts())
    assert b"".join(whole.document()) == compact(data)
    assert_same_without_index(payload, "json", FIELDS, monkeypatch)


@pytest.mark.parametrize(
    ("name", "around"),
    around_each(['{"name":"x",\n  "packages": {%s}\n, "id":1}', "{%s}", '{"a":{"b":{%s}}}']),
)
def test_an_object_of_many_members_is_read_as_it_is_without_an_index(name, around, monkeypatch):
    # The beginning that decides what the main container is takes up to a quarter.
    values = SEQUENCES[name] * 5
    keys = [f"node_modules/p{number}" for number in range(len(values))]
    if name == "a key twice":
        keys[3] = keys[2]
    if name == "an escaped key":
        keys[3] = "\\u0069d"
    members = [f'\n "{key}": {value}' for key, value in zip(keys, values, strict=True)]
    payload = indexed((around % ",".join(members)).encode(), "json")
    for pointer in ("/packages/node_modules~1p7/id", "/node_modules~1p7/id", "/a/b/node_modules~1p7/id"):
        answers = []
        for one in (payload, payload_of(payload.view())):
            try:
                answers.append(value_at(one, pointer, lines=False))
            except NotFound as error:
                answers.append(str(error))
        assert answers[0] == answers[1]
    fields = ([("packages", "node_modules/p7", "in", "id")], [("packages",)], [("node_modules/p9",)])
    assert_same_without_index(payload, "json", fields, monkeypatch)
