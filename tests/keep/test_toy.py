"""A keep policy that is added to the table works everywhere, and leaves as many gaps as it likes."""

import re

import pytest

from tests.support.reference import recount
from tests.support.samples import MARK, SAMPLES
from tests.support.tiers import as_nightly
from tokcap.keep import KEEPS
from tokcap.outputs import FORMS
from tokcap.shapes import SHAPES


@pytest.fixture(autouse=True)
def middle():
    KEEPS.add("middle", "tests.support.toys.keep:MIDDLE")
    yield
    KEEPS.remove("middle")


@pytest.mark.parametrize("shape", list(SHAPES))
@pytest.mark.parametrize("output", list(FORMS))
@pytest.mark.parametrize("limit", ["300", "450", as_nightly("900")])
def test_it_cuts_every_shape_within_the_limit(inside, shape, output, limit):
    ran = inside("-n", limit, "--keep", "middle", "-o", output, stdin=SAMPLES[shape])
    assert ran.status == 0
    assert b"CUT_FAILED" not in ran.out + ran.err
    if output == "text":
        assert recount(ran.out) <= int(limit)
    if output == "json":
        assert ran.json["meta"]["shape"] == shape
        # In the smallest window the mark may replace the first value.
        assert ran.json["meta"].get("next_offset", 0) == 0


@pytest.mark.parametrize("shape", list(SHAPES))
def test_both_gaps_have_a_mark_in_their_place(inside, shape):
    ran = inside("-n", "200", "--keep", "middle", stdin=SAMPLES[shape])
    assert ran.out.count(MARK.encode()) == 2
    assert b"60" in ran.out
    assert b"119" not in ran.out.replace(b"119 hidden", b"")


def test_the_marks_in_text_say_what_each_gap_hides(inside):
    ran = inside("-n", "120", "--keep", "middle", stdin=SAMPLES["text"])
    first, *_, last = ran.out.decode().splitlines()
    assert re.fullmatch(rf"{re.escape(MARK)} \d+/\d+ tokens; next: --token-offset 0", first)
    assert re.fullmatch(rf"{re.escape(MARK)} tokens \d+-\d+ hidden", last)


def test_it_does_not_go_with_kill_on_limit(inside):
    assert inside("-n", "9", "--keep", "middle", "--kill-on-limit", "--", "true").status == 125
