"""Seek points change nothing but the time: windows are the same with them and without."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import json_documents, tables
from tests.support.json_documents import CONTAINERS, SEQUENCES
from tests.support.payloads import payload_of
from tests.support.reference import recount
from tests.support.tiers import examples
from tokcap.core import seek_points
from tokcap.outputs import FORMS
from tokcap.shapes import csv_text, json_reader
from tokcap.shapes.json_reader import Reader

# So far apart that most documents here have many.
STRIDE = 16
# An offset that is behind the end of all documents here, and not so far that it is counted in another way.
BEHIND_THE_END = 60_000


@pytest.fixture(autouse=True)
def many_seek_points(monkeypatch):
    for module in (seek_points, json_reader, csv_text):
        monkeypatch.setattr(module, "STRIDE_BYTES", STRIDE)


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


def pairs_of(source):
    points = source.payload.seek_points
    return list(zip(points.bytes, points.states, strict=True))


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
    true_ones = pairs_of(source)
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
    pairs = pairs_of(foreign)
    for byte, state in pairs_of(source):
        place = data.draw(st.integers(0, len(state) - 1))
        changed = data.draw(st.sampled_from([b"", b"0", b" ", b"-", b"x"]))
        ruined = state[:place] + changed + state[place + 1 :]
        pairs.append((byte, ruined if ruined != state else b""))
    for byte, state in pairs[:: len(pairs) // 8 + 1]:
        source.payload.seek_points.clear()
        source.payload.seek_points.add(byte, state)
        assert windows(source, limit) == expected


def test_deep_nesting_leaves_no_long_seek_points():
    depth = 5000
    source = json_documents.Source("[1," * depth + "2" + "]" * depth)
    assert recount(FORMS["json"].compose(source.window(50, keep="tail").parts)) <= 50
    pairs = pairs_of(source)
    assert pairs
    assert max(len(state) for _, state in pairs) < 10_000
    assert sum(len(state) for _, state in pairs) < 1_000_000


def test_a_string_longer_than_many_strides_is_passed_in_one_step():
    text = json.dumps(["x" * 5000, {"a": 1}, "y" * 5000, [1, 2]])
    reader = Reader(payload_of(text.encode()).view(), lines=False)
    reader.pass_over(len(text) - 4)
    assert (reader.next_begin, reader.first_read.index) == (len(text) - 3, 3)
