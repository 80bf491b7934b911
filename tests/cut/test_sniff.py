"""What a payload is taken for, and what an explicit shape changes."""

import json

import pytest

from tests.tokens.test_index import payload_of
from tokcap.cut.sniff import sniff

SHAPES = [
    ("json", b'{"a":1}'),
    ("json", b" [1, 2]\n"),
    ("json", b"42\n"),
    ("json", b'"text"'),
    ("json", b"null"),
    ("json", b'\xef\xbb\xbf{"a":1}'),
    ("json", rb'["\ud800"]'),
    ("json", b"[1E400]"),
    ("json", b"[" + b"9" * 5000 + b"]"),
    ("json", b'{"a":1,"a":2}'),
    ("json", b"[" * 3000 + b"]" * 3000),
    ("jsonl", b'{"a":1}\n{"a":2}\n'),
    ("jsonl", b'{"a":1}\r\n\r\n{"a":2}'),
    ("jsonl", b'{"a":1}{"b":2}'),
    ("jsonl", b'{"a":1} [2]'),
    ("jsonl", b'{\n  "a": 1\n}\n{\n  "a": 2\n}\n'),
    ("jsonl", rb'{"a":"\ud800"}' + b"\n[]\n"),
    ("csv", b"id,name\n1,a\n2,b\n"),
    ("csv", b'id,name,note\r\n1,"a, b","line\r\nbreak"\r\n'),
    ("csv", b'name,note\n"a ""quoted"" one",x\n,\n'),
    ("tsv", b"id\tname\n1\ta\n2\tb\n"),
    ("text", b""),
    ("text", b" \n\n"),
    ("text", b"plain words\n"),
    ("text", b"1\n2\n3\n"),
    ("text", b'"a"\n"b"\n'),
    ("text", b"NaN"),
    ("text", b"[NaN]"),
    ("text", b'{"a":1'),
    ("text", b'{"a":1}]'),
    ("text", b"{'a':1}"),
    ("text", b"[1,]"),
    ("text", b"01"),
    ("text", b'["\x01"]'),
    ("text", b'["\xff"]'),
    ("text", b'warning: old\n{"a":1}\n'),
    ("text", b'{"a":1}\nwarning: old\n'),
    ("text", b"[INFO] started\n[INFO] done\n"),
    ("text", b"Dear all, hello\nI write, again\nBest, me\n"),
    ("text", b"1,2\n3,4\n5,6\n"),
    ("text", b"a,b\n1,2,3\n4,5\n"),
    ("text", b"a,a\n1,2\n3,4\n"),
    ("text", b'a,b\n"1,2\n3,4\n'),
    ("text", b"12\t3\tfile.py\n4\t5\tother.py\n"),
    ("text", b"a,b\n"),
    ("json", b" " * 70_000 + b"[1,2,3]"),
    ("csv", b"id,name\n1,a\n2,b\n\n"),
    ("csv", b"id,name\n1,caf\xe9\n2,b\n"),
    ("text", b"".join(b"2024-01-01 10:00:%02d,%03d INFO request %d done\n" % (n, n, n) for n in range(40))),
    ("text", b"foo(a,b)\nbar(c,d)\nbaz(e,f)\n"),
    ("text", b"INFO,start of it\nINFO,other\nWARN,x\n"),
    ("text", b"M\tREADME.md\nM\tsetup.py\nA\tnew.py\n"),
    ("text", b"4.0K\t./a\n8.0K\t./b\n12K\t.\n"),
    ("text", b"100644 blob 1234\ta\n100644 blob 5678\tb\n100644 blob 9abc\tc\n"),
]


@pytest.mark.parametrize(("shape", "data"), SHAPES, ids=lambda value: str(value[:30]))
def test_a_payload_is_taken_for_what_it_is(shape, data):
    assert sniff(payload_of(data), "auto").shape == shape


@pytest.mark.parametrize(("shape", "data"), SHAPES, ids=lambda value: str(value[:30]))
def test_text_is_text_if_one_says_so(shape, data):
    assert sniff(payload_of(data), "text").shape == "text"


@pytest.mark.parametrize("declared", ["json", "jsonl"])
def test_a_payload_that_contradicts_its_shape_is_text_with_a_warning(declared):
    found = sniff(payload_of(b"plain words\n"), declared)
    assert found.shape == "text"
    assert found.notices[0].code == "SHAPE_MISMATCH"


def test_a_column_of_values_is_json_lines_if_one_says_so():
    found = sniff(payload_of(b"1\n2\n3\n"), "jsonl")
    assert (found.shape, found.total_count) == ("jsonl", 3)
    assert sniff(payload_of(b'{"a":1}'), "jsonl").shape == "jsonl"


def test_a_table_with_a_quote_that_is_never_closed_is_text_with_a_warning():
    found = sniff(payload_of(b'id,name\n1,"open\n2,b\n'), "csv")
    assert (found.shape, found.notices[0].code) == ("text", "SHAPE_MISMATCH")
    assert sniff(payload_of(b'a,b\n1,"' + b"x" * 200_000 + b'"\n'), "csv").shape == "csv"


def test_a_table_without_evidence_is_one_if_one_says_so():
    assert sniff(payload_of(b"1,2\n3\n"), "csv").shape == "csv"
    assert sniff(payload_of(b""), "csv").shape == "text"


@pytest.mark.parametrize(
    ("data", "count"),
    [
        ([1, 2, 3], 3),
        ({"items": [1, 2], "next": None}, 2),
        ({"a": [1], "b": [2]}, None),
        ({"a": 1}, None),
        ([], 0),
    ],
)
def test_records_are_those_of_the_array_at_the_top(data, count):
    assert sniff(payload_of(json.dumps(data).encode()), "auto").total_count == count


@pytest.mark.parametrize(
    ("data", "count"),
    [(b'{"a":[1,2,3],"a":[4]}', None), (b'{"a":[{"a":1}]}', 1), (b"[1E400,2,3]", 3), (rb'["\ud800",2]', 2)],
)
def test_records_are_counted_as_they_stand_in_the_source(data, count):
    assert sniff(payload_of(data), "auto").total_count == count


def test_a_long_table_is_judged_by_its_beginning():
    rows = b"".join(b'%d,"some text, quoted, number %d"\n' % (n, n) for n in range(20_000))
    assert sniff(payload_of(b"id,text\n" + rows), "auto").shape == "csv"
