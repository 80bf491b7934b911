"""Cells that are found in many rows at once are those that are found row by row."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.payloads import payload_of
from tests.support.tiers import examples
from tokcap.shapes import column_summary, table_cells, table_columns
from tokcap.shapes.csv_text import CSV, rows, start_of_table
from tokcap.shapes.table_columns import Columns, select_columns

CELLS = st.sampled_from(
    ["", "a", '"a"', '"a,b"', '"x\ny"', '"q""q"', "1", "-2.5", "é", '"é" z', 'a"b', " ", "null"]
) | st.integers(0, 3000).map(str)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def tables(draw) -> bytes:
    columns = draw(st.integers(1, 4))
    regular = st.lists(CELLS, min_size=columns, max_size=columns)
    body = draw(st.lists(st.one_of(regular, regular, regular, st.lists(CELLS, max_size=6)), max_size=40))
    end = draw(ENDS)
    lines = [",".join("abcd"[:columns]), *(",".join(row) for row in body)]
    return (end.join(lines) + draw(st.sampled_from(["", end, end + '"open', end + end]))).encode()


@examples(50)
@given(data=tables(), names=st.lists(st.sampled_from("abcdx"), min_size=1, max_size=3))
def test_columns_of_many_rows_are_those_of_each_row(data, names):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_columns, "BLOCK_BYTES", 50)
        found = select_columns(payload_of(data), [(name,) for name in names], CSV)
    header = data.split(b"\n")[0].split(b"\r")[0].decode().split(",")
    numbers = [number for number, name in enumerate(header) if name in names]
    one_by_one = Columns(numbers, len(header), CSV).slowly
    spans = rows(data, start_of_table(data), CSV)
    assert bytes(found.data[:]) == b"".join(one_by_one(data[start:end]) for start, end in spans)


@examples(50)
@given(data=tables(), complete=st.booleans())
def test_a_summary_of_many_rows_is_that_of_each_row(data, complete):
    found = column_summary.read(data, CSV, complete=complete)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_cells, "MOST_IRREGULAR", 0)
        patch.setattr(column_summary, "BLOCK_BYTES", 50)
        one_by_one = column_summary.read(data, CSV, complete=complete)
    assert found == one_by_one
