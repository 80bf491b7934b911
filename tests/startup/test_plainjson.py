"""`plainjson` writes and reads the same JSON as the standard library and orjson."""

import json
import re
import subprocess
import sys

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.tiers import some_everyday
from tokcap.startup.plainjson import ESCAPES, compact, dumps, loads

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(VALUES)
def test_a_written_value_is_read_back(value):
    assert json.loads(dumps(value)) == value


def test_dumps_indents_its_output():
    assert dumps({"a": [1, "é"], "b": {}}) == json.dumps({"a": [1, "é"], "b": {}}, indent=1)


def test_lone_surrogates_are_preserved():
    assert json.loads(dumps("\udcff")) == "\udcff"


@given(VALUES)
def test_compact_writes_what_orjson_writes_and_no_control_characters(value):
    try:
        expected = orjson.dumps(value)
    except TypeError:
        return  # integers of more than 64 bits, and lone surrogates
    written = compact(value)
    assert orjson.loads(written) == orjson.loads(expected)
    assert written == expected or any(chr(code) in expected.decode() for code in ESCAPES)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_fractions_are_read_back_exactly(value):
    assert orjson.loads(compact(value)) == value


def test_bytes_are_copied_as_json():
    assert compact({"data": b"1E400", "meta": {"ok": True}}) == b'{"data":1E400,"meta":{"ok":true}}'


@given(VALUES)
def test_loads_reads_what_the_standard_library_reads(value):
    text = json.dumps(value, indent=1)
    assert loads(text) == json.loads(text) == value


@given(st.text(alphabet='[]{}",:\\u0123456789dDeE.+-truefalsn \t\n\r\x01é', max_size=30))
@example("NaN")
@example("-Infinity")
@example("[1,]")
@example("[1] x")
@example("01")
@example("1.")
@example('"\x01"')
@example("\ufeff1")
@example("\xa01")
@example('"\\u+123"')
def test_loads_refuses_what_orjson_refuses(text):
    # orjson alone refuses half a surrogate pair, which RFC 8259 leaves open.
    if re.search(r"\\u[dD][89a-fA-F]", text) is None:
        assert is_read(loads, text) == is_read(orjson.loads, text)


def is_read(read, text):
    try:
        read(text)
    except ValueError:
        return False
    return True


def test_numbers_can_stay_text():
    assert loads("[" + "7" * 5000 + ", 1E400]", numbers=False) == ["7" * 5000, "1E400"]


def test_nesting_that_is_too_deep_raises_an_error():
    with pytest.raises(RecursionError):
        loads("[" * 100_000 + "]" * 100_000)


def test_invalid_json_is_a_value_error_where_json_decoder_is_not_loaded():
    texts = ["[1", '{"a', '{"a" 1}', '"\x01"', '"\\x"', "[1,]", "NaN", "x", ""]
    script = (
        "import sys\nfrom tokcap.startup.plainjson import loads\nassert 'json.decoder' not in sys.modules\n"
        "for text in sys.argv[1:]:\n"
        "    try: loads(text)\n"
        "    except ValueError: print('refused')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *texts], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout, done.stderr) == ("refused\n" * len(texts), "")


@pytest.mark.parametrize("end", some_everyday(range(100, 160, 7), 3))
def test_incomplete_json_is_text_and_its_pages_join(inside, with_store, end):
    document = json.dumps([{"id": number} for number in range(60)]).encode()[:-end]
    first = inside("-n", "210", "-o", "json", stdin=document)
    assert (first.json["warnings"], first.json["meta"]["shape"]) == ([], "text")
    shown, page = first.json["data"][0], first.json["meta"]
    while "next_offset" in page:
        answer = inside("show", page["handle"], "-o", "json", "--token-offset", str(page["next_offset"])).json
        shown, page = shown + answer["data"][0], answer["meta"]
    assert shown.encode() == document
