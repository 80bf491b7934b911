"""Any table as rows and as CSV, and windows of it."""

import csv
import io

from hypothesis import strategies as st

from tests.support.samples import Sample

CELLS = st.one_of(st.text("abc ,\"\n\r\t'é漢0", max_size=8), st.integers().map(str))


def written(rows, delimiter=",", line_end="\r\n") -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator=line_end).writerows(rows)
    return out.getvalue().encode()


@st.composite
def tables(draw):
    columns = draw(st.integers(2, 5))
    rows = draw(st.lists(st.lists(CELLS, min_size=columns, max_size=columns), min_size=1, max_size=40))
    return [[f"column {n}" for n in range(columns)], *rows]


class Source(Sample):
    def __init__(self, data: bytes, shape: str = "csv") -> None:
        super().__init__(data, shape)
