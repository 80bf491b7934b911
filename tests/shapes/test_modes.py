"""Response modes: fewer bytes, the same truth, most important first."""

import csv
import io
import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.reference import ENCODINGS, recount
from tests.support.tiers import examples
from tokcap.core.payload import Spool
from tokcap.shapes import MODES, SHAPES, sniff
from tokcap.shapes.base import RunFacts as Facts

MOST_SUMMARY_BYTES = 12_001


def spool(data: bytes) -> Spool:
    payload = Spool()
    payload.write(data)
    return payload


def table(data: bytes, shape: str):
    return MODES["table"].changed(spool(data), SHAPES[shape], Facts())


def summed_up(data: bytes, shape: str, **facts) -> list[str]:
    known = {"handle": "lake917365018", "out_bytes": len(data), "exit_status": 0} | facts
    if isinstance(known.get("err"), bytes):
        known["err_bytes"] = len(known["err"])
        known["err"] = spool(known["err"])
    return summary(spool(data), shape, Facts(**known)).decode().splitlines()


def summary(payload: Spool, shape: str, facts: Facts) -> bytes:
    return MODES["summary"].changed(payload, SHAPES[shape], facts).data


def handle_only(facts: Facts, shape: str) -> bytes:
    return MODES["handle_only"].changed(spool(b""), SHAPES[shape], facts).data


def rows_of(changed) -> list[list[str]]:
    assert changed.shape == "tsv"
    return list(csv.reader(io.StringIO(changed.data.decode(), newline=""), delimiter="\t"))


# handle_only


def test_a_handle_stands_in_one_line_with_what_is_known():
    facts = Facts(handle="lake917365018", exit_status=1, out_bytes=48_000, out_tokens=4217, total_count=12)
    line = b"[lake917365018] json, 12 records, 48 KB, 4217 tokens, exit 1; tokcap show lake917365018\n"
    assert handle_only(facts, "json") == line
    guessed = facts.replace(out_tokens_exact=False, signal=9, err_bytes=2100, total_count=None)
    assert handle_only(guessed, "text") == (
        b"[lake917365018] text, 48 KB, about 4.2k tokens, stderr 2.1 KB, killed by SIGKILL; "
        b"tokcap show lake917365018\n"
    )


def test_silence_and_output_on_stderr_alone_are_told_apart():
    assert handle_only(Facts(handle="abcd", exit_status=0), "text") == (
        b"[abcd] no output, exit 0; tokcap show abcd\n"
    )
    assert handle_only(Facts(handle="abcd", err_bytes=5), "text") == (
        b"[abcd] nothing on stdout, stderr 5 bytes; tokcap show abcd --stream err\n"
    )


# table


def test_records_become_a_header_and_one_row_each():
    data = b'[{"id": 1.10, "name": "Ann"}, {"id": 1E400, "tags": ["a", {"b" : null}]}, {"name": null}]'
    changed = table(data, "json")
    assert changed.data == b'id\tname\ttags\n1.10\tAnn\t\n1E400\t\t["a",{"b":null}]\n\t\t\n'
    assert (changed.shape, changed.notices) == ("tsv", ())
    assert table(b'[{"b":{}}]', "json").data == b"b\n{}\n"


def test_objects_nested_a_thousand_times_are_still_a_table():
    data = b"[" + b'{"a":' * 1000 + b"1" + b"}" * 1000 + b"]"
    assert table(data, "json").data.count(b"a") == 1000


def test_lines_of_objects_are_a_table_too():
    assert table(b'{"a":1}{"a":2,"b":"x"}\n\n{"b":"y"}\n', "jsonl").data == b"a\tb\n1\t\n2\tx\n\ty\n"


def test_what_stands_beside_the_only_array_is_told_in_full():
    data = b'{"total": 120, "items": [{"longer name of a": 1}, {"longer name of a": 2}], "next": "p2"}'
    changed = table(data, "json")
    assert changed.data == b"longer name of a\n1\n2\n"
    (notice,) = changed.notices
    assert (notice.code, notice.message) == ("BESIDE_TABLE", 'outside the table: {"total":120,"next":"p2"}')


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": 1}',
        b"[]",
        b"[1, 2]",
        b"[{}, {}]",
        b'[{"a": 1}, 2]',
        b'{"a": [{"x": 1}], "b": [{"y": 2}]}',
        b'{"items": [{"x": 1}], "more": "%s"}' % (b"m" * 500),
        b'[{"a": 1, "a": 2}]',
        b'[{"a": 1, "\\u0061": 2}]',
        b'[{"aa": 1}, {"bb": 1}, {"cc": 1}, {"dd": 1}, {"ee": 1}, {"ff": 1}, {"gg": 1}, {"hh": 1}]',
        b'"a  b"',
        b"\xef\xbb\xbf[ 1 ]",
        b"[" * 100_000 + b"]" * 100_000,
    ],
    ids=lambda data: data[:40].decode(),
)
def test_what_is_no_table_is_compacted_and_loses_nothing(data):
    changed = table(data, "json")
    assert changed.shape == "json"
    assert b": " not in changed.data
    if data[:2] != b"[[":
        assert json.loads(changed.data) == json.loads(data.decode("utf-8-sig"))
    else:
        assert changed.data == data + b"\n"


def test_values_in_a_row_that_are_no_records_are_compacted_one_by_one():
    assert table(b'1 2\n{ "a" : 1 }\n[ ]  ', "jsonl").data == b'1\n2\n{"a":1}\n[]\n'


CELLS = st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.lists(st.integers(), max_size=3)


@given(st.lists(st.dictionaries(st.text(max_size=5), CELLS, max_size=4), max_size=6), st.booleans())
def test_rows_read_back_give_the_values_of_the_records(records, ascii_only):
    data = json.dumps(records, ensure_ascii=ascii_only, indent=1)
    try:
        changed = table(data.encode(), "json")
    except UnicodeEncodeError:
        return
    if changed.shape == "json":
        assert json.loads(changed.data) == records
        return
    names, *rows = rows_of(changed)
    assert names == list(dict.fromkeys(name for record in records for name in record))
    assert len(changed.data) <= len(data.encode())
    assert len(rows) == len(records)
    for row, record in zip(rows, records, strict=True):
        for name, cell in zip(names, row, strict=True):
            value = record.get(name)
            expected = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
            assert cell == ("" if value is None else expected)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_table_costs_half_of_what_the_records_did(encoding):
    records = [
        {"id": n, "name": f"user {n}", "mail": f"u{n}@example.com", "on": n % 2 > 0} for n in range(100)
    ]
    data = json.dumps(records).encode()
    assert 2 * recount(table(data, "json").data, encoding) < recount(data, encoding)


def test_equal_lines_and_blank_ones_are_folded_and_indentation_is_not():
    text = b"\n\nstart  \r\n" + b"waiting for it\n" * 37 + b"\n\n\n    deep\n    deeper\n.\n.\nend\n\n"
    folded = b"start\nwaiting for it  [x 37]\n\n    deep\n    deeper\n.\n.\nend\n"
    assert table(text, "text").data == folded


@given(st.lists(st.sampled_from(["", " ", "a", "b  ", "a long line of words"]), max_size=30))
def test_every_line_of_text_survives_in_order(lines):
    folded = table("\n".join(lines).encode(), "text").data.decode()
    unfolded = []
    for line in folded.splitlines():
        text, found, times = line.partition("  [x ")
        unfolded += [text] * (int(times[:-1]) if found else 1)
    assert [line for line in unfolded if line] == [line.rstrip() for line in lines if line.rstrip()]


def test_binary_data_is_not_taken_for_lines():
    data = b"\x7fELF\x00 \n\n\n  \x00"
    assert table(data, "text").data == data


# summary


@pytest.mark.parametrize("shape", list(SHAPES))
@given(
    data=st.binary(max_size=2000) | st.text(max_size=800).map(lambda text: text.encode("utf-8", "replace"))
)
def test_a_summary_of_anything_is_short_text_and_always_the_same(shape, data):
    facts = Facts(handle="abcd", out_bytes=len(data), err_bytes=len(data), err=spool(data))
    said = summary(spool(data), shape, facts)
    assert said == summary(spool(data), shape, facts)
    assert len(said) <= MOST_SUMMARY_BYTES
    assert said.decode().splitlines()[0].startswith("[abcd] ")
    table(data, shape)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=200,
)


@examples(20)
@given(JSON, st.integers(0, 300))
def test_the_summary_of_any_document_is_short_even_if_it_breaks_off(value, cut):
    data = json.dumps([value] * 3).encode()
    for part in (data, data[: len(data) - cut]):
        assert len("\n".join(summed_up(part + b" " * 500, "json")).encode()) <= MOST_SUMMARY_BYTES


def test_a_summary_does_not_depend_on_the_hash_seed():
    code = (
        "import sys, json; from tokcap.shapes import SHAPES; from tokcap.shapes.base import RunFacts;"
        "from tokcap.shapes.summary import summary; from tokcap.core.payload import Spool;"
        "p = Spool();"
        "p.write(b''.join(b'error %d in %s\\n' % (n, w) for n in range(50) for w in (b'x', b'y', b'zebra')));"
        "sys.stdout.buffer.write(summary(p, SHAPES['text'], RunFacts(handle='abcd', out_bytes=p.size)))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


def test_short_output_is_shown_itself():
    assert summed_up(b"one\ntwo\n", "text")[1:] == ["one", "two"]
    assert summed_up(b'{ "a": [1, 2] }\n', "json")[1:] == ['{"a":[1,2]}']
    assert summed_up(b"a,b\n1,2\n", "csv")[1:] == ["a,b", "1,2"]
    assert summed_up(b"", "text") == [
        "[lake917365018] no output, exit 0; tokcap show lake917365018 [--grep REGEX]"
    ]


def test_the_outline_merges_records_and_counts_what_only_some_have():
    pods = [
        {"name": f"web-{n}", "status": {"phase": "Failed" if n == 7 else "Running", "restarts": n}}
        | ({"note": "x"} if n < 3 else {})
        for n in range(100)
    ]
    data = json.dumps({"kind": "List", "items": pods}, indent=2).encode()
    assert summed_up(data, "json", total_count=100) == [
        "[lake917365018] json, 100 records, 11 KB, exit 0; tokcap show lake917365018 [--pointer /PATH]",
        '/: kind "List"; items [100] of {2..3}',
        '/items/* (100): name 60+ values, e.g. "web-0"; status {2}; note (in 3) "x"',
        '/items/*/status (100): phase "Running" x99, "Failed" x1; restarts 0..99',
    ]


def test_an_object_with_ids_for_keys_is_a_map():
    packages = {f"p/{n}": {"version": f"1.{n}", "dev": True} for n in range(300)}
    said = summed_up(json.dumps({"packages": packages}).encode(), "json")
    assert said[1] == "/: packages map {300} of {2}"
    assert said[2] == '/packages/* (300): version 60+ values, e.g. "1.0"; dev true'


def test_a_long_document_is_read_from_its_beginning_and_that_is_said():
    data = b"[" + b",".join([b'{"id": 1, "text": "%s"}' % (b"x" * 1000)] * 5000) + b"]"
    payload = spool(data)
    facts = Facts(out_bytes=len(data), total_count=sniff(payload, "auto").total_count)
    said = summary(payload, "json", facts).decode().splitlines()
    assert "5000 records, 5.1 MB" in said[0]
    assert said[1] == "(outline of the first 4.2 MB only)"
    said = summed_up(b"a,b\n" + b"1,2222\n" * 1_000_000, "csv")
    assert "about 999999 records" in said[0]
    assert said[1].startswith("(columns of the first 599")


def test_columns_are_told_by_range_kinds_and_examples():
    rows = "".join(f"{n},{'ab'[n % 2]},{n / 4},{'' if n % 3 else 'hello, you'},{n:x}z\n" for n in range(90))
    rows = rows.replace("hello, you", '"hello, you"')
    said = summed_up(b"id,kind,price,note,code\n" + rows.encode(), "csv")
    assert said == [
        "[lake917365018] csv, 90 records, 1.7 KB, exit 0; tokcap show lake917365018",
        "id: 0..89",
        "kind: a x45, b x45",
        "price: 0.0..22.25",
        "note: hello, you, 60 empty",
        "code: 60+ values, e.g. 0z",
    ]


LOG = (
    b"".join(b"[%d/200] Building object file_%d.o\n" % (n, n) for n in range(200))
    + b"src/errors.c:10:5: error: 'x' undeclared\n"
    + b"note\n" * 5
    + b"src/a.c:3:1: warning: unused variable 'y'\n"
    + b"\x1b[31mmake: *** [Makefile:2: all] Error 1\x1b[0m\n"
    + b"".join(b"the end %s\n" % word for word in (b"a", b"b", b"c"))
)


def test_errors_come_first_then_the_ends_then_what_repeats():
    assert summed_up(LOG, "text", exit_status=2) == [
        "[lake917365018] text, 211 lines, 7.4 KB, exit 2; tokcap show lake917365018 [--grep REGEX]",
        "lines that look like errors (2):",
        "201: src/errors.c:10:5: error: 'x' undeclared",
        "208: make: *** [Makefile:2: all] Error 1",
        "last lines:",
        "207: src/a.c:3:1: warning: unused variable 'y'",
        "209: the end a",
        "210: the end b",
        "211: the end c",
        "first lines:",
        "1: [0/200] Building object file_0.o",
        "2: [1/200] Building object file_1.o",
        "3: [2/200] Building object file_2.o",
        "repeated lines (# varies):",
        "x 200: [#/#] Building object file_#.o",
        "x 5: note",
    ]


def test_stderr_comes_before_the_output_of_a_failure_and_after_that_of_a_success():
    err = b"progress\n" * 200 + b"cp: cannot stat 'x': No such file or directory\n"
    failed = summed_up(LOG, "text", err=err, exit_status=1)
    assert failed[1:4] == [
        "stderr: 201 lines",
        "stderr, lines that look like errors (1):",
        "201: cp: cannot stat 'x': No such file or directory",
    ]
    fine = summed_up(LOG, "text", err=err, exit_status=0)
    assert fine.index("stderr: 201 lines") > fine.index("first lines:")
    alone = summed_up(b"", "text", err=err, exit_status=1)
    assert alone[-2:] == ["stderr, repeated lines (# varies):", "x 200: progress"]


def test_a_flood_of_errors_shows_one_of_each_kind_and_counts_all_of_them():
    flood = b"".join(b"ERROR: file %d is bad\n" % n for n in range(4000)) + b"FATAL: gave up\n"
    said = summed_up(flood, "text", exit_status=1)
    assert said[1:4] == [
        "lines that look like errors (4001):",
        "1: ERROR: file 0 is bad  [x 4000]",
        "4001: FATAL: gave up",
    ]


def test_a_summary_of_binary_data_says_so_and_shows_its_first_bytes():
    said = summed_up(b"\x1f\x8b\x08" + bytes(2000), "text")
    assert said[0].startswith("[lake917365018] binary (gzip), 2.0 KB, exit 0; ")
    assert said[1].startswith("first bytes: 1f 8b 08 00")


def test_a_summary_with_much_room_lists_more(inside):
    text = b"".join(
        b"src/unit%c.c:%d: error: problem %c\n" % (65 + n % 26, n, 65 + n % 26) * 1 for n in range(200)
    )
    few, many = (inside("-n", limit, "--mode", "summary", stdin=text).out for limit in ("600", "6000"))
    assert many.count(b"error: problem") > 2 * few.count(b"error: problem")
