"""What every shape promises, checked for every member of the table."""

import csv
import io
import itertools
import json

import pytest

from tests.support.payloads import payload_of
from tests.support.reference import recount
from tests.support.samples import MARK, RECORDS, SAMPLES, Sample
from tokcap.errors import NotFound
from tokcap.outputs import FORMS
from tokcap.shapes import SHAPES, sniff
from tokcap.shapes.base import RunFacts

LIMITS = (12, 40, 90, 400)
every_shape = pytest.mark.parametrize("name", list(SHAPES))


def records_in(shape: str, data: bytes) -> list[object]:
    """The records of a window, marks and header left out."""
    text = data.decode()
    if shape == "text":
        return [line for line in text.splitlines() if not line.startswith(MARK)]
    if shape in ("csv", "tsv"):
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter="," if shape == "csv" else "\t"))
        return [tuple(row) for row in rows[1:] if not row[0].startswith(MARK)]
    values = json.loads(text) if shape == "json" else [json.loads(line) for line in text.splitlines()]
    return [value for value in values if value not in (MARK, {MARK: True})]


def test_every_shape_has_a_sample_and_the_name_that_the_table_gives_it():
    assert list(SAMPLES) == list(SHAPES) == [SHAPES[name].name for name in SHAPES]


@every_shape
def test_a_payload_of_a_shape_is_recognized(name):
    payload = payload_of(SAMPLES[name])
    assert sniff(payload, "auto").shape == name
    assert sniff(payload, name).shape == name
    assert not sniff(payload, name).notices


@every_shape
def test_every_payload_can_be_declared_to_be_any_shape(name):
    for data in (*SAMPLES.values(), b"", b'{"a": [1', b'a,b\n"open', b"\xff\x00"):
        found = sniff(payload_of(data), name)
        assert found.shape in (name, "text")
        assert found.shape == name or found.notices or not data


@every_shape
@pytest.mark.parametrize("limit", LIMITS)
def test_a_window_recounts_to_at_most_the_limit(name, limit):
    for output, offset in itertools.product(FORMS, (0, 30, 50_000)):
        assert recount(Sample(SAMPLES[name], name).shown(limit, offset=offset, output=output)) <= limit


@every_shape
def test_a_payload_that_fits_is_passed_on_unchanged(name):
    assert Sample(SAMPLES[name], name).shown(50_000) == SAMPLES[name]
    assert Sample(SAMPLES[name], name).shown(None) == SAMPLES[name]


@every_shape
def test_pages_show_every_record_once(name):
    pages = Sample(SAMPLES[name], name).pages(100)
    found = [record for page in pages for record in records_in(name, FORMS["text"].compose(page.parts))]
    assert found == records_in(name, SAMPLES[name])
    assert len(found) == len(RECORDS)


@every_shape
def test_a_window_is_recognized_as_the_same_shape(name):
    shown = Sample(SAMPLES[name], name).shown(200)
    assert sniff(payload_of(shown), name).shape == name


@every_shape
def test_a_cut_says_what_is_hidden_and_how_to_get_it(name):
    cut = Sample(SAMPLES[name], name).window(100)
    assert f"--token-offset {cut.gap.first}" in cut.hint
    in_the_mark = f"--token-offset {cut.gap.first}".encode() in Sample(SAMPLES[name], name).shown(100)
    assert in_the_mark == SHAPES[name].mark_has_note


@every_shape
def test_fields_are_selected_or_there_are_none(name):
    selected = SHAPES[name].select(payload_of(SAMPLES[name]), [("id",), ("nothing",)])
    if selected is not None:
        assert selected.found == {("id",)}
        assert "name" in selected.names
        assert b"item 7" not in selected.data
        assert sniff(payload_of(selected.data), name).shape == name


@every_shape
def test_a_pointer_leads_to_a_value_or_the_refusal_says_why(name):
    payload = payload_of(SAMPLES[name])
    if SHAPES[name].select(payload_of(b""), []) is not None:
        value = SHAPES[name].value_at(payload, "/7/name")
        assert value.data.startswith(b"item 7")
        assert value.shape == "text"
    with pytest.raises(NotFound, match=r"pointer|no value at /500/name"):
        SHAPES[name].value_at(payload, "/500/name")


@every_shape
def test_a_table_or_compact_form_has_no_more_bytes(name):
    changed = SHAPES[name].as_table(payload_of(SAMPLES[name]))
    assert len(changed.data) <= len(SAMPLES[name])
    assert changed.shape in SHAPES
    assert sniff(payload_of(changed.data), changed.shape).shape == changed.shape


@every_shape
@pytest.mark.parametrize("data", [b"", b"short\n", None])
def test_a_summary_begins_with_one_headline(name, data):
    payload = payload_of(SAMPLES[name] if data is None else data)
    facts = RunFacts(handle="abcd", exit_status=0, out_bytes=payload.size)
    first, *_ = SHAPES[name].summarize(payload, facts)
    assert first.startswith("[abcd] ")
    assert "\n" not in first
