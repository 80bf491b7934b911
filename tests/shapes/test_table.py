"""Windows over CSV and TSV: whole rows, a header in each, and always rectangular."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.payloads import payload_of
from tests.support.reference import recount
from tests.support.tables import MARK, Source, tables, written
from tests.support.tiers import examples
from tokcap.core.cut import Kept
from tokcap.errors import NotFound
from tokcap.forms import FORMS
from tokcap.shapes import SHAPES, long_string
from tokcap.shapes.csv_text import CSV, cells_of, end_of_row, pass_rows
from tokcap.shapes.csv_text import rows as rows_in
from tokcap.shapes.fields import select

cut_csv, cut_tsv = SHAPES["csv"].cut, SHAPES["tsv"].cut


def read(data: bytes, delimiter=",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode(), newline=""), delimiter=delimiter, strict=True))


@pytest.mark.parametrize(("delimiter", "cut_shape"), [(",", cut_csv), ("\t", cut_tsv)])
@examples(30)
@given(rows=tables(), limit=st.integers(60, 200), line_end=st.sampled_from(["\n", "\r\n"]))
def test_a_window_reads_back_as_the_first_rows_and_the_mark_row(delimiter, cut_shape, rows, limit, line_end):
    data = written(rows, delimiter, line_end)
    page = Source(data, cut_shape).window(limit)
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
    walked, offset = [], 0
    while offset is not None:
        page = source.window(limit, offset)
        assert not page.notices
        header, *body = read(FORMS["text"].compose(page.parts)) or [rows[0]]
        assert header == rows[0]
        walked += [row for row in body if row[0] != MARK]
        assert page.gap is None or page.gap.first > offset
        offset = page.gap.first if page.gap else None
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


@pytest.mark.parametrize("keep", ["tail", "ends"])
def test_the_mark_stands_at_the_gap_and_says_how_many_rows_are_hidden(keep):
    rows = [["id", "name"], *([str(n), f"n{n}"] for n in range(500))]
    shown = read(FORMS["text"].compose(Source(written(rows)).window(80, keep=keep).parts))
    place = next(n for n, row in enumerate(shown) if row[0].startswith(MARK))
    assert shown[place] == [f"{MARK} {500 - (len(shown) - 2)} hidden", ""]
    assert shown[0] == ["id", "name"]
    assert shown[-1] == ["499", "n499"]
    assert (place == 1) == (keep == "tail")


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


def test_a_row_of_which_no_cell_fits_is_passed_with_a_warning():
    source = Source(b"a,b,c\nx," + b"word " * 40 + b",y\n1,2,3\n4,5,6\n")
    for limit in range(6, 30):
        page = source.window(limit)
        assert recount(FORMS["text"].compose(page.parts)) <= limit
        if page.parts:
            assert page.gap.first > 0
            assert page.notices[0].code == "FIELD_TRUNCATED"
        else:
            assert page.gap.first == 0


def test_a_wide_row_of_which_no_cell_fits_has_one_warning():
    header = ",".join(f"column_{number}" for number in range(300))
    source = Source(f"{header}\n{'12345678,' * 299}1\n1\n2\n".encode())
    page = source.window(200)
    (notice,) = page.notices
    assert SHAPES["csv"].value_at(source.payload, notice.pointer).data == b"12345678"


def test_the_pointers_of_warnings_lead_to_their_cells():
    long = {name: f"{name} word " * 60 for name in ("first", "second", "third", "fourth")}
    data = ",".join(("1", *long.values())).encode()
    source = Source(b"id,a/b~c,x,x\n" + data + b"\n2,b,c,d\n")
    page = source.window(80)
    found = [SHAPES["csv"].value_at(source.payload, notice.pointer).data for notice in page.notices]
    assert sorted(found) == sorted(text.encode() for text in long.values())
    with pytest.raises(NotFound, match="the columns are id"):
        SHAPES["csv"].value_at(source.payload, "/1/4")


def test_a_byte_order_mark_is_no_part_of_the_first_name():
    data = b'\xef\xbb\xbf"a, b",c\n' + b"1,2\n" * 30
    assert FORMS["text"].compose(Source(data).window(25).parts).endswith(b"[TRUNCATED],\n")


def test_a_quote_that_is_never_closed_makes_the_rest_one_row():
    data = b'id,name\n1,"open\n' + b"2,b\n" * 60
    assert end_of_row(data, 8, CSV) == len(data)
    assert end_of_row(data, 0, CSV) == 8


@examples(60)
@given(data=st.text('a,"\n\ré', max_size=40).map(str.encode))
def test_rows_passed_in_one_go_are_those_passed_one_by_one(data):
    starts = [0]
    while starts[-1] < len(data):
        starts.append(end_of_row(data, starts[-1], CSV))
    for number, start in enumerate(starts):
        for stop in range(start + 1, len(data) + 1):
            behind = next(place for place, begin in enumerate(starts) if begin >= stop)
            assert pass_rows(data, start, stop, CSV) == (starts[behind], behind - number)


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
def test_columns_of_ragged_and_quoted_rows_are_copied(line_end, fields):
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
    monkeypatch.setattr(long_string, "BLOCK_BYTES", 7)
    whole = long_string.LongString(payload)
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
