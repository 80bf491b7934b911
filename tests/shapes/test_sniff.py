"""What a payload is taken for, and what an explicit shape changes."""

import json

import pytest

from tests.support.payloads import payload_of
from tokcap.shapes import sniff
from tokcap.shapes.json import ENDLESS_BYTES, LIGHT_BYTES

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


def test_a_payload_is_taken_for_what_it_is():
    for shape, data in SHAPES:
        assert sniff(payload_of(data), "auto").shape == shape, data[:30]


def test_everything_is_text_if_one_says_so():
    assert {sniff(payload_of(data), "text").shape for _, data in SHAPES} == {"text"}


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


def test_a_key_with_half_a_character_is_a_key_like_any_other():
    for blanks in (b"", b" " * LIGHT_BYTES):
        found = sniff(payload_of(rb'{"\ud800": [1, 2, 3]}' + blanks), "auto")
        assert (found.shape, found.total_count) == ("json", 3)


def test_a_long_table_is_judged_by_its_beginning():
    rows = b"".join(b'%d,"some text, quoted, number %d"\n' % (n, n) for n in range(20_000))
    assert sniff(payload_of(b"id,text\n" + rows), "auto").shape == "csv"


class Glanced:
    """A payload of which only the beginning may be read."""

    def __init__(self, data):
        self.size = 1 << 40
        self._data = data * (2 * ENDLESS_BYTES // len(data))

    def read(self, start, stop):
        assert stop <= 2 * ENDLESS_BYTES
        return self._data[start:stop]


NOT_FOR_LONG_JSON = [
    *(b"[INFO] started\n", b"{not} JSON\n", b"2024-01-01 a line\n", b"true story\n", b"-\n"),
    *(b"123\n", b'"a"\n', b"{}\n1\n", b'{"a":1}\nwords\n', b"[1,2,\n]\n", b'["\xff"]\n', b'["\x01"]\n'),
]


def test_a_text_that_only_begins_like_json_is_refused_by_its_beginning():
    for line in NOT_FOR_LONG_JSON:
        assert sniff(Glanced(line), "auto").shape == "text", line


@pytest.mark.parametrize("number", [1, 7, 20_000])
@pytest.mark.parametrize(
    "value",
    [b'{"a":1}\n', b'{\n"a":1\n}\n', b'{"a":1}', rb'{"a":"\ud800"}' + b"\n", b'{"a":1}\r', b"[1E400] \n"],
)
def test_lines_and_values_of_other_forms_are_counted_alike(value, number):
    mixed = value * number + b'{"b":[]}\n' * number
    assert sniff(payload_of(mixed), "auto").total_count == 2 * number
    assert sniff(payload_of(mixed + b"words"), "auto").shape == "text"


def test_one_document_declared_as_lines_is_one_record():
    assert sniff(payload_of(b"[1,2,3]"), "jsonl").total_count == 1


def test_a_declared_table_is_read_block_by_block_whatever_ends_its_lines():
    for line_end in (b"\n", b"\r\n", b"\r"):
        rows = b"".join(b'%d,"a%sb \xc3\xa9"' % (n, line_end) + line_end for n in range(20_000))
        assert sniff(payload_of(b"id,text" + line_end + rows), "csv").shape == "csv"
        assert sniff(payload_of(b"id,text" + line_end + rows + b'1,"open'), "csv").shape == "text"


def test_a_run_of_digits_without_end_is_text_and_a_long_number_is_json():
    assert sniff(payload_of(b"1" * 100_000), "auto").shape == "text"
    assert sniff(payload_of(b"1" * 5_000), "auto").shape == "json"
    assert sniff(payload_of(b"1" * 100_000), "json").shape == "json"
