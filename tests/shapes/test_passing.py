"""Passing over a payload gives what looking at each lexeme gives, with seek points or without."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import json_documents, tables
from tests.support.json_documents import CONTAINERS, DOCUMENTS, SEQUENCES
from tests.support.payloads import payload_of
from tests.support.reference import recount
from tests.support.tiers import examples, times
from tokcap.core import seek_points
from tokcap.core.seek_points import SeekPoints, ShapeSeekPoints
from tokcap.forms import FORMS
from tokcap.shapes import table_window
from tokcap.shapes.json_text import tree
from tokcap.shapes.json_text.patterns import LEXEME
from tokcap.shapes.json_text.scanner import end_of_value
from tokcap.shapes.json_text.tree import Reader

# So far apart that most documents here have many.
STRIDE = 16
# An offset that is behind the end of all documents here, and not so far that it is counted in another way.
BEHIND_THE_END = 60_000
DEEP = st.tuples(DOCUMENTS, st.integers(0, 9)).map(lambda pair: "[0," * pair[1] + pair[0] + ",1]" * pair[1])
SOURCES = st.one_of(
    st.tuples(DEEP, st.just(False)),
    st.tuples(SEQUENCES, st.just(True)),
    st.tuples(st.lists(DEEP, min_size=1, max_size=5).map(" ".join), st.just(True)),
)


@pytest.fixture(autouse=True)
def many_seek_points(monkeypatch):
    for module in (seek_points, tree, table_window):
        monkeypatch.setattr(module, "STRIDE_BYTES", STRIDE)


def lexeme_by_lexeme(data, lines):
    """For every byte: the containers around the first value from there on, and where that begins."""
    lexemes = [match.span() for match in LEXEME.finditer(data)]
    # Kind, key, begin, start, index, count.
    path = [[b"" if lines else b".", None, 0, 0, 0, 0]]
    if not lines and data[lexemes[0][0]] in b"[{":
        start = lexemes.pop(0)[0]
        path = [[data[start : start + 1], None, start, start, 0, 0]]
    states, key = [], None
    for start, end in lexemes:
        sign = data[start : start + 1]
        if sign in (b",", b":"):
            continue
        if sign in (b"]", b"}"):
            if len(path) > 1:
                path.pop()
            continue
        if key is None:
            here = [tuple(level) for level in path], start
            states += [here] * (start + 1 - len(states))
        if path[-1][0] == b"{" and key is None:
            key = start, end
            continue
        path[-1][5] += 1
        if sign in (b"[", b"{"):
            begin, name = (key[0], data[slice(*key)]) if key else (start, None)
            path.append([sign, name, begin, start, path[-1][5] - 1, 0])
        key = None
    return states + [([tuple(path[0])], len(data))] * (len(data) + 1 - len(states))


def state_of(reader):
    path = [reader.root]
    while path[-1].children:
        path.append(path[-1].children[-1])
    levels = [(node.kind, node.key, node.begin, node.start, node.index, node.count) for node in path]
    return levels, reader.next_begin


@examples(12)
@given(source=SOURCES)
def test_at_every_byte_a_glance_finds_what_a_look_at_each_lexeme_finds(source):
    text, lines = source
    data = text.encode("utf-8", "surrogatepass")
    trail = ShapeSeekPoints(SeekPoints(), "json", data)
    for byte, expected in enumerate(lexeme_by_lexeme(data, lines)):
        for followed in (None, trail):
            reader = Reader(data, lines=lines, seek_points=followed)
            reader.pass_over(byte)
            assert state_of(reader) == expected
            assert reader.complete == (reader.next_begin == len(data))


@examples(30)
@given(text=DEEP)
def test_a_value_ends_where_its_last_lexeme_ends(text):
    data = text.encode("utf-8", "surrogatepass")
    assert end_of_value(data + b",[]]", 0) == len(data)


@examples(30)
@given(text=CONTAINERS)
def test_the_top_of_a_document_is_the_same_read_alone_or_with_all_that_is_inside(text):
    data = text.encode("utf-8", "surrogatepass")
    top, everything = Reader(data, lines=False), Reader(data, lines=False)
    top.read_top()
    everything.read_until(len(data))
    assert top.root.count == everything.root.count
    for one, other in zip(top.root.children, everything.root.children, strict=True):
        assert (one.kind, one.key, one.begin, one.start) == (other.kind, other.key, other.begin, other.start)
        assert data[one.start : one.end] == data[other.start : other.end]
        if (top.root.kind, one.kind) == (tree.OBJECT, tree.ARRAY):
            assert one.count == other.count


WINDOWS = list(itertools.product(["head", "tail", "ends"], [0, 30]))
TABLES = tables.tables().map(lambda rows: ("csv", tables.written(rows)))
PAYLOADS = st.one_of(
    CONTAINERS.map(lambda text: ("json", text)), SEQUENCES.map(lambda text: ("jsonl", text)), TABLES
)


def source_of(payload):
    shape, content = payload
    if shape == "csv":
        return tables.Source(content)
    return json_documents.Source(content, lines=shape == "jsonl")


def windows(source, limit):
    return [source.window(limit, offset, keep) for keep, offset in WINDOWS]


@examples(15)
@given(payload=PAYLOADS, limit=st.integers(15, 60), data=st.data())
def test_any_of_the_seek_points_give_the_windows_that_none_give(payload, limit, data):
    source = source_of(payload)
    expected = []
    for keep, offset in WINDOWS:
        source.payload.seek_points.clear()
        expected.append(source.window(limit, offset, keep))
    source.window(1, BEHIND_THE_END)
    true_ones = source.payload.seek_points.pairs()
    some = data.draw(st.lists(st.sampled_from(true_ones), unique=True)) if true_ones else []
    source.payload.seek_points.clear()
    for byte, state in some:
        source.payload.seek_points.add(byte, state)
    assert windows(source, limit) == expected


@examples(12)
@given(payload=PAYLOADS, other=PAYLOADS, limit=st.integers(15, 60), data=st.data())
def test_seek_points_that_are_damaged_or_of_something_else_change_nothing(payload, other, limit, data):
    source, foreign = source_of(payload), source_of(other)
    expected = windows(source, limit)
    foreign.window(1, BEHIND_THE_END)
    pairs = [*foreign.payload.seek_points.pairs()]
    for byte, state in source.payload.seek_points.pairs():
        place = data.draw(st.integers(0, len(state) - 1))
        changed = data.draw(st.sampled_from([b"", b"0", b" ", b"-", b"x"]))
        ruined = state[:place] + changed + state[place + 1 :]
        pairs.append((byte, ruined if ruined != state else b""))
    for byte, state in pairs[:: len(pairs) // 8 + 1]:
        source.payload.seek_points.clear()
        source.payload.seek_points.add(byte, state)
        assert windows(source, limit) == expected


def test_a_seek_point_of_one_shape_is_none_of_another():
    text = "\n".join(json.dumps({"n": n, "list": [n]}) for n in range(200))
    as_lines = json_documents.Source(text, lines=True)
    as_table = tables.Source(text.encode())
    as_table.payload = as_lines.payload
    expected = windows(as_lines, 40), windows(as_table, 40)
    assert as_lines.payload.seek_points.last_byte
    assert (windows(as_lines, 40), windows(as_table, 40)) == expected


class Ruined:
    """A payload of which the first part cannot be read any more, with the seek points of the whole."""

    def __init__(self, payload, *, begin, end):
        self.payload = payload
        self.seek_points = payload.seek_points
        self.size = payload.size
        self._data = bytearray(payload.view())
        self._data[begin:end] = b'"' * (end - begin)

    def view(self):
        return bytes(self._data)

    def check(self, start, stop):
        pass


RECORDS = [{"id": n, "name": f"name {n}", "tags": ["a", {"b": [n]}]} for n in range(500)]


@pytest.mark.parametrize("shape", ["json", "jsonl", "csv"])
def test_what_lies_before_a_seek_point_is_not_read_again(shape):
    content = {
        "json": json.dumps(RECORDS),
        "jsonl": "".join(json.dumps(record) + "\n" for record in RECORDS),
        "csv": b"id,name\n" + b"".join(b"%d,name %d\n" % (n, n) for n in range(2000)),
    }[shape]
    source = source_of((shape, content))
    offset = source.index.total_tokens * 9 // 10
    expected = source.window(60, offset)
    assert source.payload.seek_points.last_byte > source.payload.size * 8 // 10
    source.payload = Ruined(source.payload, begin=20, end=source.payload.size // 2)
    assert source.window(60, offset) == expected


def test_hidden_records_are_counted_over_seek_points():
    source = json_documents.Source(json.dumps(list(range(5000))))
    for _ in range(2):
        shown = json.loads(FORMS["json"].compose(source.window(60, keep="ends").parts))
        mark = next(value for value in shown if isinstance(value, str))
        assert mark == f"{json_documents.MARK} {5000 - (len(shown) - 1)} hidden"
        assert shown[-1] == 4999


@pytest.mark.parametrize("wrap", ["%s", '{"a": 1, "b": %s, "c": [%s]}', "[[%s], %s]"])
def test_both_ends_of_a_long_document_are_the_same_with_seek_points(wrap):
    source = json_documents.Source(wrap.replace("%s", json.dumps(RECORDS[:60])))
    for offset in range(0, 300, 70 // times()):
        source.payload.seek_points.clear()
        expected = source.window(40, offset, "ends")
        source.window(1, BEHIND_THE_END)
        assert source.window(40, offset, "ends") == expected


def test_deep_nesting_leaves_no_long_seek_points():
    depth = 5000
    source = json_documents.Source("[1," * depth + "2" + "]" * depth)
    assert recount(FORMS["json"].compose(source.window(50, keep="tail").parts)) <= 50
    pairs = source.payload.seek_points.pairs()
    assert pairs
    assert max(len(state) for _, state in pairs) < 10_000
    assert sum(len(state) for _, state in pairs) < 1_000_000


def test_a_string_longer_than_many_strides_is_passed_in_one_step():
    text = json.dumps(["x" * 5000, {"a": 1}, "y" * 5000, [1, 2]])
    reader = Reader(payload_of(text.encode()).view(), lines=False)
    reader.pass_over(len(text) - 4)
    assert (reader.next_begin, reader.first_read.index) == (len(text) - 3, 3)
