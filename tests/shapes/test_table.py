"""Windows over CSV and TSV: whole rows, a header in each, and always rectangular."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.payloads import payload_of
from tests.support.reference import recount
from tests.support.samples import MARK
from tests.support.tables import Source, tables, written
from tests.support.tiers import examples
from tokcap.core.cut import Kept
from tokcap.errors import NotFound
from tokcap.outputs import FORMS
from tokcap.shapes import SHAPES, long_values, table_columns
from tokcap.shapes.csv_text import CSV, cells_of
from tokcap.shapes.csv_text import rows as rows_in
from tokcap.shapes.paths import select


def read(data: bytes, delimiter=",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode(), newline=""), delimiter=delimiter, strict=True))


@pytest.mark.parametrize(("delimiter", "shape"), [(",", "csv"), ("\t", "tsv")])
@examples(30)
@given(rows=tables(), limit=st.integers(60, 200), line_end=st.sampled_from(["\n", "\r\n"]))
def test_a_window_reads_back_as_the_first_rows_and_the_mark_row(delimiter, shape, rows, limit, line_end):
    data = written(rows, delimiter, line_end)
    page = Source(data, shape).window(limit)
    shown = FORMS["text"].compose(page.parts)
    assert recount(shown) <= limit
    if page.gap is None and not page.notices:
        assert shown == data
    elif not page.notices:
        *kept, mark = read(shown, delimiter)
        assert kept == read(data, delimiter)[: len(kept)]
        assert mark == [MARK] + [""] * (len(rows[0]) - 1)


@examples(25)
@given(rows=tables(), limit=st.integers(80, 200))
def test_walking_shows_every_row_once_below_the_header(rows, limit):
    source = Source(written(rows))
    walked = []
    for page in source.pages(limit):
        assert not page.notices
        header, *body = read(FORMS["text"].compose(page.parts)) or [rows[0]]
        assert header == rows[0]
        walked += [row for row in body if row[0] != MARK]
    assert walked == read(written(rows))[1:]


@examples(30)
@given(
    rows=tables(),
    limit=st.integers(1, 120),
    keep=st.sampled_from(["head", "tail", "ends"]),
    output=st.sampled_from(["text", "json", "jsonl"]),
)
def test_whatever_is_written_recounts_to_at_most_the_limit(rows, limit, keep, output):
    page = Source(written(rows)).window(limit, keep=keep, output=output)
    assert recount(FORMS[output].compose(page.parts)) <= limit


def test_a_row_too_long_for_any_window_has_its_long_cells_replaced():
    rows = [["id", "body"], ["1", "word " * 300], ["2", "short"]]
    source = Source(written(rows))
    page = source.window(60)
    assert read(FORMS["text"].compose(page.parts))[1] == ["1", MARK]
    assert page.notices[0].pointer == "/0/body"
    assert read(FORMS["text"].compose(source.window(60, page.gap.first).parts)) == [
        ["id", "body"],
        ["2", "short"],
    ]


def test_under_a_limit_for_nothing_but_the_mark_a_row_is_passed_with_a_warning():
    source = Source(b"a long name of a column,b,c\nx," + b"word " * 40 + b",y\n1,2,3\n4,5,6\n")
    for limit in range(4, 30):
        page = source.window(limit)
        assert recount(FORMS["text"].compose(page.parts)) <= limit
        if page.parts:
            assert page.gap.first > 0
            assert page.notices[0].code in ("FIELD_TRUNCATED", "COLUMNS_SHOWN")
        else:
            assert page.gap.first == 0


def walked(source: Source, limit: int) -> tuple[dict[int, list[str]], int]:
    """The cells of each row, and the number of pages. Rows count from 0."""
    cells, pages, number = {}, 0, 0
    for page in source.pages(limit):
        shown = FORMS["text"].compose(page.parts)
        assert recount(shown) <= limit
        header, *body = read(shown)
        body = [row for row in body if row[:1] != [MARK] or any(row[1:]) or row is body[0]]
        columns = [notice.message for notice in page.notices if notice.code == "COLUMNS_SHOWN"]
        for message in columns:
            found = re.match(r"columns? (\d+)(?: to (\d+))? of \d+ of row (\d+)", message)
            first, end, row = found.groups()
            assert header == [f"c{n}" for n in range(int(first), int(end or first) + 1)]
            assert len(cells.setdefault(int(row), [])) == int(first) - 1
            cells[int(row)] += body.pop(0)
            number = int(row)
        for row in body if not columns else ():
            number = max(cells, default=-1) + 1
            cells[number] = row
        pages += 1
    return cells, pages


WIDE_CELLS = st.one_of(
    st.integers(0, 9999).map(str), st.sampled_from(["", "", "a,b", '"', "two words", "x\ny"])
)


@examples(25)
@given(
    rows=st.integers(2, 70).flatmap(
        lambda width: st.lists(st.lists(WIDE_CELLS, min_size=width, max_size=width), min_size=1, max_size=4)
    ),
    limit=st.integers(45, 90),
)
def test_groups_of_columns_join_to_the_rows_cell_for_cell(rows, limit):
    header = [f"c{n}" for n in range(1, len(rows[0]) + 1)]
    found, _ = walked(Source(written([header, *rows])), limit)
    assert [found[number] for number in range(len(rows))] == rows


def test_a_table_of_many_columns_is_shown_in_groups_that_go_on():
    header = [f"c{n}" for n in range(1, 1001)]
    rows = [[str(n) for n in range(1000)], ["word " * 100, *["x"] * 999]]
    found, pages = walked(Source(written([header, *rows])), 60)
    assert found == {0: rows[0], 1: [MARK, *rows[1][1:]]}
    assert pages < 400
    page = Source(written([header, *rows])).window(60)
    assert page.hint.startswith(f"{page.gap.first - Source(written([header])).index.total_tokens}/")


def test_a_header_that_is_wider_than_a_window_is_shown_in_groups():
    names = [f"column_{number}" for number in range(300)]
    pages = Source(written([names])).pages(60)
    assert [name for page in pages for name in read(FORMS["text"].compose(page.parts))[0]] == names


def test_the_pointers_of_warnings_lead_to_their_cells():
    long = {name: f"{name} word " * 60 for name in ("first", "second", "third", "fourth")}
    data = ",".join(("1", *long.values())).encode()
    source = Source(b"id,a/b~c,x,x\n" + data + b"\n2,b,c,d\n")
    page = source.window(80)
    found = [SHAPES["csv"].value_at(source.payload, notice.pointer).data for notice in page.notices]
    assert sorted(found) == sorted(text.encode() for text in long.values())
    with pytest.raises(NotFound, match="the columns are id"):
        SHAPES["csv"].value_at(source.payload, "/1/4")


def test_behind_the_last_name_of_a_header_alone_there_is_nothing():
    source = Source(b"a,b" + b" c" * 40)
    assert source.window(9, 10).parts == ()


def test_a_byte_order_mark_is_no_part_of_the_first_name():
    data = b'\xef\xbb\xbf"a, b",c\n' + b"1,2\n" * 30
    assert FORMS["text"].compose(Source(data).window(25).parts).endswith(b"[TRUNCATED],\n")


@pytest.mark.parametrize("keep", ["tail", "ends"])
def test_of_a_long_table_only_the_ends_are_read_and_all_rows_are_counted(keep):
    rows = [["id", "note"], *([str(n), "a\nb" if n % 3 else "c"] for n in range(20_000))]
    shown = read(FORMS["text"].compose(Source(written(rows)).window(100, keep=keep).parts))
    place = next(n for n, row in enumerate(shown) if row[0].startswith(MARK))
    assert shown[place][0] == f"{MARK} {20_000 - (len(shown) - 2)} hidden"
    assert shown[1:place] == rows[1:place]
    assert shown[place + 1 :] == rows[-(len(shown) - place - 1) :]


def test_without_a_limit_everything_from_an_offset_on_is_shown_below_the_header():
    source = Source(b"id,name\n" + b"".join(b"%d,n%d\n" % (n, n) for n in range(50)))
    page = source.window(None, source.index.token_at(source.payload.view().index(b"40,")))
    assert read(FORMS["text"].compose(page.parts)) == [
        ["id", "name"],
        *([str(n), f"n{n}"] for n in range(40, 50)),
    ]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("fields", ["b", "c,a", "a.b", "b,nothing"])
def test_columns_of_ragged_and_quoted_rows_are_copied(line_end, fields, monkeypatch):
    # A block ends in each row.
    monkeypatch.setattr(table_columns, "BLOCK_BYTES", 7)
    rows = ["a,b,a.b,c", "1,2,3,4", '"x, ""y""","2\n\n3",,', "1", "", "1,2,3,4,5", ',,"z"z,', '"open,1,2,3']
    table = line_end.join(rows).encode()
    wanted = [number for number, name in enumerate(["a", "b", "a.b", "c"]) if name in fields.split(",")]
    expected = b""
    for start, end in rows_in(table, 0, CSV):
        cells = cells_of(table[start:end], CSV)
        kept = b",".join(cells[number] for number in wanted if number < len(cells))
        expected += kept + table[start:end][len(table[start:end].rstrip(b"\r\n")) :]
    assert select(payload_of(table), "csv", fields).data == expected


def test_a_long_table_is_written_to_an_envelope_as_a_short_one_is(monkeypatch):
    table = 'id,text\n1,"é\n漢字"\n2,"\\x"\n'.encode() * 3 + b"last\xff"
    payload = payload_of(table)
    monkeypatch.setattr(long_values, "BLOCK_BYTES", 7)
    whole = long_values.LongString(payload)
    for blocks, form in ((whole.document(), "json"), (whole.lines(), "jsonl")):
        assert b"".join(blocks) == FORMS[form].compose((Kept(table),))


def test_a_pointer_into_a_long_table_finds_its_row_again_by_seek_points():
    rows = [b'%d,"a ""%d""\n"\n' % (number, number) for number in range(60_000)]
    data = b"id,text\n" + b"".join(rows)
    payload = payload_of(data)
    for number in (59_999, 0, 30_000, 59_999, 17):
        assert SHAPES["csv"].value_at(payload, f"/{number}/id").data == b"%d" % number
    assert len(payload.seek_points.bytes) > 3
    with pytest.raises(NotFound, match="the rows are 0 to 59999"):
        SHAPES["csv"].value_at(payload, "/60000/id")


def test_the_tail_of_a_table_whose_rows_are_too_wide_shows_columns_of_the_last_one():
    rows = [
        [f"c{column}" for column in range(60)],
        *([f"{row}.{column}" for column in range(60)] for row in range(50)),
    ]
    page = Source(written(rows)).window(60, keep="tail")
    header, shown, *_ = read(FORMS["text"].compose(page.parts))
    assert (header[0], shown[0]) == ("c0", "49.0")
    assert page.gap.first == 0
    assert "of row 49" in page.notices[0].message
