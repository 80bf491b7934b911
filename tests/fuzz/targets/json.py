"""JSON by our own scanners is what the standard library and orjson take for JSON."""

from __future__ import annotations

import json
import re

import msgspec
import orjson

from tests.fuzz.target import Input, target
from tests.support import corpus
from tests.support.json_documents import records_in
from tests.support.payloads import payload_of
from tokcap.shapes import json_grammar as grammar
from tokcap.shapes import json_scanner as scanner
from tokcap.shapes import sniff
from tokcap.shapes.beginning import certainly_text
from tokcap.shapes.json_compiled import Refused
from tokcap.shapes.json_index import index_document
from tokcap.startup import plainjson

TEXTS = [*corpus.TRICKY_JSON, *corpus.case_inputs("json*")]
# The standard library goes so deep without fail.
DEEPEST = 400
BOM = scanner.BYTE_ORDER_MARK
HALF_A_PAIR = re.compile(rb"\\u[dD][89a-fA-F]")


def no_constant(word: str) -> None:
    raise ValueError(word)


DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=no_constant)


def is_deep(data: bytes) -> bool:
    return data.count(b"[") + data.count(b"{") > DEEPEST


def expected_values(data: bytes) -> list[tuple[int, int]]:
    """The values of a sequence by the standard library, as places in the bytes."""
    text = data.removeprefix(scanner.BYTE_ORDER_MARK).decode()
    before = len(data) - len(text.encode())
    spans, at = [], 0
    while True:
        at += len(text[at:]) - len(text[at:].lstrip(" \t\n\r"))
        if at == len(text):
            return spans
        _, end = DECODER.raw_decode(text, at)
        if text[at] not in '{["' and text[end : end + 1] not in ("", " ", "\t", "\n", "\r"):
            raise ValueError(end)
        spans.append((before + len(text[:at].encode()), before + len(text[:end].encode())))
        at = end


def found_values(data: bytes) -> list[tuple[int, int]] | None:
    try:
        return [*grammar.validated_values(data)]
    except ValueError:
        return None


@target(TEXTS)
def json_scanner(given: Input) -> None:
    data = given.payload
    if is_deep(data):
        found_values(data)
        return
    try:
        expected = expected_values(data)
    except ValueError:
        expected = None
    assert found_values(data) == expected
    if expected is None:
        return
    # Whatever begins like this may go on.
    cut = given.knobs[0] * 256 + given.knobs[1]
    beginning = grammar.beginning_of_values(data.removeprefix(scanner.BYTE_ORDER_MARK)[:cut])
    assert beginning.more or len(beginning.values) <= len(expected)
    for start, end in expected:
        assert DECODER.decode(scanner.compact(data[start:end]).decode()) == DECODER.decode(
            data[start:end].decode()
        )


@target(TEXTS)
def json_reader(given: Input) -> None:
    """`plainjson.loads` reads what orjson reads, and to the same values."""
    try:
        text = given.payload.decode()
    except UnicodeDecodeError:
        return
    if is_deep(given.payload):
        return
    try:
        expected, is_json = json.loads(text, parse_constant=no_constant), True
    except ValueError:
        expected, is_json = None, False
    try:
        found, is_read = plainjson.loads(text), True
    except ValueError:
        found, is_read = None, False
    assert (is_read, found) == (is_json, expected)
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        # It alone refuses half a surrogate pair, and numbers that a float cannot hold.
        assert not is_read or HALF_A_PAIR.search(given.payload) or re.search(r"\d[eE]|\d{300}", text)
    else:
        assert is_read


@target(TEXTS)
def json_index(given: Input) -> None:
    """The index accepts what both compiled parsers and the grammar accept, and counts what the source has."""
    data = given.payload.strip(b" \t\r\n")
    if not data or is_deep(data):
        return
    try:
        found = index_document(payload_of(data), 0, 8 + given.knobs[0])
    except Refused:
        # Half a surrogate pair is all that the grammar allows and the parser does not.
        spans = found_values(data)
        assert spans is None or len(spans) != 1 or HALF_A_PAIR.search(data) or data.startswith(BOM)
        return
    spans = found_values(data)
    assert spans == [(0, len(data))]
    assert found == records_in(data) or repeats_a_key(data)
    msgspec.json.decode(data, type=msgspec.Raw)
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError:
        assert HALF_A_PAIR.search(data) or re.search(rb"\d[eE]|\d{300}", data)


def repeats_a_key(data: bytes) -> bool:
    top = json.loads(data, object_pairs_hook=tuple)
    return isinstance(top, tuple) and len({key for key, _ in top}) < len(top)


@target([*corpus.TRICKY_JSON, *corpus.TRICKY_TABLES, *corpus.case_inputs(), *corpus.TRICKY_TEXT])
def sniffer(given: Input) -> None:
    """The first look at a payload never says text where the second one finds a structure."""
    payload = payload_of(given.payload)
    for declared in ("auto", "json", "jsonl", "csv", "tsv"):
        assert sniff(payload, declared).shape in ("text", declared) or declared == "auto"
    if sniff(payload, "auto").shape != "text":
        assert not certainly_text(given.payload[: given.knobs[0] * 256 + given.knobs[1]])
        assert not certainly_text(given.payload)
