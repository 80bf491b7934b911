"""Following `next_offset` ends for every shape, policy and limit, and the pages join to the original."""

import csv
import io
import json
import re

from hypothesis import Phase, given
from hypothesis import strategies as st

from tests.support.json_documents import CONTAINERS, SEQUENCES, is_within, leaves
from tests.support.reference import recount
from tests.support.samples import MARK
from tests.support.tables import written
from tests.support.texts import AWKWARD
from tests.support.tiers import examples
from tokcap import cap
from tokcap.keep import KEEPS

VALUE = json.JSONDecoder(object_pairs_hook=tuple)
CELLS = st.one_of(st.text("ab ,\"\n\t'é漢🧑", max_size=9), st.integers(0, 10**6).map(str))


@st.composite
def wide_tables(draw):
    """Tables of up to 60 columns, so that no row fits into most windows."""
    columns = draw(st.integers(2, 60))
    rows = st.lists(CELLS, min_size=columns, max_size=columns)
    names = [f"{draw(st.sampled_from(['c', '漢 ', '🧑']))}{number}" for number in range(columns)]
    return [names, *draw(st.lists(rows, min_size=1, max_size=4))]


PAYLOADS = {
    "text": AWKWARD.filter(bool),
    "json": CONTAINERS,
    "jsonl": SEQUENCES,
    "csv": wide_tables().map(lambda rows: written(rows).decode()),
    "tsv": wide_tables().map(lambda rows: written(rows, "\t", "\n").decode()),
}


def values_in(shape: str, text: str) -> list:
    """Return the leaves, or the cells below the header, without marks."""
    if shape in ("csv", "tsv"):
        _, *rows = csv.reader(io.StringIO(text, newline=""), delimiter="," if shape == "csv" else "\t")
        return [cell for row in rows if row[:1] != [MARK] for cell in row if cell != MARK]
    documents = []
    while text := text.lstrip(" \t\r\n…"):
        document, end = VALUE.raw_decode(text)
        documents.append(document)
        text = text[end:]
    found = [leaf for document in documents for leaf in leaves(document)]
    return [value for pointer, value in found if value != MARK and MARK not in pointer]


@examples(80, phases=[Phase.explicit, Phase.generate])
@given(
    case=st.sampled_from([*PAYLOADS]).flatmap(lambda shape: st.tuples(st.just(shape), PAYLOADS[shape])),
    limit=st.integers(1, 80),
    keep=st.sampled_from([*KEEPS]),
)
def test_every_walk_ends_and_joins(case, limit, keep):
    shape, text = case
    data = text.encode("utf-8", "surrogatepass")
    sentinel = "" if shape == "text" else MARK
    page = cap(data, limit, shape=shape, keep=keep, sentinel=sentinel, spill="never")
    pages = [page]
    while (offset := page.meta.next_offset) is not None:
        # After an end or a survey, the walk goes back to what was left out, and reads on from there.
        assert len(pages) == 1 or offset > (page.meta.token_offset or 0)
        page = cap(data, limit, shape=shape, offset=offset, sentinel=sentinel, spill="never")
        pages.append(page)
    for page in pages:
        assert recount(page.text + page.words) <= limit
    warnings = {warning.code: warning.message for page in pages for warning in page.warnings}
    if "LIMIT_TOO_SMALL" in warnings:
        assert "LIMIT_TOO_SMALL" in {warning.code for warning in pages[-1].warnings}
        least = int(re.search(r"use (\d+) or more", warnings["LIMIT_TOO_SMALL"])[1])
        offset = pages[-1].meta.token_offset or 0
        shown = cap(data, least, shape=shape, offset=offset, sentinel=sentinel, spill="never")
        assert shown.text or shown.meta.next_offset
    elif pages[0].meta.token_offset == 0 and pages[0].meta.next_offset and keep == "head":
        joined = [page.text for page in pages]
        if shape == "text":
            assert b"".join(joined) == data
        else:
            shown = [value for part in joined if part for value in values_in(shape, part.decode())]
            original = values_in(shape, text)
            assert is_within(shown, original)
            assert shown == original or "FIELD_TRUNCATED" in warnings
