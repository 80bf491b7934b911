"""Any table as rows and as CSV, and windows of it."""

import csv
import io

from hypothesis import strategies as st

from tests.support.payloads import TOKENIZERS, payload_of
from tokcap.core.cut import Ask
from tokcap.forms import FORMS
from tokcap.keep import KEEPS
from tokcap.shapes import SHAPES
from tokcap.tokens import count_bytes
from tokcap.tokens.index import Index

MARK = "[TRUNCATED]"
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


class Source:
    def __init__(self, data: bytes, cut_shape=SHAPES["csv"].cut) -> None:
        self.payload = payload_of(data)
        self.index = Index(self.payload, TOKENIZERS["cl100k_base"])
        self.cut_shape = cut_shape

    def window(self, limit, offset=0, keep="head", output="text"):
        def cost(parts):
            return count_bytes(FORMS[output].compose(parts), TOKENIZERS["cl100k_base"])

        return self.cut_shape(self.payload, self.index, Ask(limit, offset, KEEPS[keep], "record", MARK), cost)
