"""What every response form promises, over all members of the table; and a form that is added from outside."""

import json

import pytest

from tests.support.reference import recount
from tokcap.core.cut import Kept, Mark, Values
from tokcap.core.response import Failure, Meta, Notice, Response
from tokcap.outputs import FORMS

FORM_NAMES = sorted(FORMS)
CUT_TEXT = (Kept(b"one\ntwo\n"), Mark("[TRUNCATED]", "4/9 tokens"))
CUT_ARRAY = (Values("array", (b"1E400", b'"\\u00e9"', Mark("[TRUNCATED]"))),)


def answered(payload: bytes | None) -> Response:
    return Response(
        3, payload, Failure("COMMAND_FAILED", "it failed"), (Notice("X", "y"),), Meta(7, "approx")
    )


@pytest.mark.parametrize("name", FORM_NAMES)
def test_the_composed_payload_stands_in_the_answer_unchanged(name):
    form = FORMS[name]
    payload = form.compose(CUT_TEXT)
    assert payload in form.write(answered(payload))


@pytest.mark.parametrize("name", FORM_NAMES)
def test_the_mark_of_a_cut_is_in_the_answer(name):
    for parts in (CUT_TEXT, CUT_ARRAY):
        assert b"[TRUNCATED]" in FORMS[name].compose(parts)


@pytest.mark.parametrize("name", FORM_NAMES)
def test_json_values_are_copied_as_they_stand_in_the_source(name):
    composed = FORMS[name].compose(CUT_ARRAY)
    assert b"1E400" in composed
    assert b'"\\u00e9"' in composed


@pytest.mark.parametrize("name", FORM_NAMES)
def test_a_form_with_an_envelope_reports_status_and_warnings_in_it(name):
    form = FORMS[name]
    written = form.write(answered(form.compose(CUT_TEXT)))
    assert (b"COMMAND_FAILED" in written) == form.has_envelope
    assert (b'"warnings"' in written) == form.has_envelope


@pytest.mark.parametrize("name", FORM_NAMES)
def test_every_line_of_an_envelope_is_json(name):
    form = FORMS[name]
    if form.has_envelope:
        for line in form.write(answered(form.compose(CUT_TEXT))).splitlines():
            json.loads(line)


@pytest.mark.parametrize("name", FORM_NAMES)
def test_the_count_is_in_the_payload_or_left_to_the_envelope(name):
    form = FORMS[name]
    assert form.compose_count(42) == (None if form.has_envelope else b"42\n")


@pytest.mark.parametrize("name", FORM_NAMES)
def test_the_smallest_answer_fits_into_the_tokens_that_the_form_states(inside, name, with_store):
    inside("budget", "start", "small", "--total", str(FORMS[name].least_tokens))
    ran = inside("--session", "small", "-o", name, "--", "seq", "1000")
    assert recount(ran.out) + recount(ran.err) <= FORMS[name].least_tokens


class Shouting:
    """A form for the test: the text in capitals."""

    has_envelope = False
    has_record_lines = False
    extra_tokens = 0
    least_tokens = 40

    def compose(self, parts):
        return FORMS["text"].compose(parts).upper()

    def compose_count(self, tokens):
        return b"%d TOKENS\n" % tokens

    def write(self, response):
        return response.payload or b""


SHOUTING = Shouting()


@pytest.fixture
def shouting():
    FORMS.add("shouting", f"{__name__}:SHOUTING")
    yield
    FORMS.remove("shouting")


@pytest.mark.usefixtures("shouting")
class TestAFormAddedFromOutside:
    def test_it_answers_a_call_of_the_command_line(self, inside):
        ran = inside("-n", "10", "-o", "shouting", stdin=b"one two three\nfour\n" * 9)
        assert ran.status == 0
        assert ran.out.startswith(b"ONE TWO THREE\n")
        assert b"[TRUNCATED]" in ran.out

    def test_it_answers_a_count(self, inside):
        assert inside("--token-count", "-o", "shouting", stdin=b"a b c\n").out == b"4 TOKENS\n"
