"""What every keep policy promises, checked for every policy over every shape."""

import itertools
import re

import pytest

from tests.support.focused import GAP
from tests.support.reference import recount
from tests.support.samples import MARK, SAMPLES, Sample
from tests.support.tiers import as_nightly
from tokcap.keep import KEEPS
from tokcap.outputs import FORMS
from tokcap.shapes import SHAPES

every_policy = pytest.mark.parametrize("keep", list(KEEPS))
every_shape = pytest.mark.parametrize("shape", list(SHAPES))


class Units:
    """Material of a hundred units that cost ten tokens each, and five for each gap."""

    count = 100
    one_end_allowed = True
    gaps_are_marked = True

    def __init__(self, limit, *, both_ends_required=False):
        self.limit = limit
        self.both_ends_required = both_ends_required

    def head_ends(self):
        return range(1, self.count)

    def tail_starts(self, hidden_from):
        return range(self.count - 1, hidden_from, -1)

    def text_of(self, unit):
        return b"unit %d\n" % unit

    def price(self, shown):
        units = sum(end - first for first, end in shown)
        return 10 * units + 5 * max(len(shown), 1)


@every_policy
@pytest.mark.parametrize("strict", [False, True])
def test_a_choice_is_in_order_and_within_the_limit(keep, strict):
    for limit in range(400):
        material = Units(limit, both_ends_required=strict)
        shown = KEEPS[keep].choose(material)
        if shown is None:
            assert limit < 25
            continue
        assert material.price(shown) <= limit
        places = [place for pair in shown for place in pair]
        assert places == sorted(places)
        assert all(first < end for first, end in shown)
        assert 0 <= places[0] < places[-1] <= material.count


@every_policy
def test_nothing_more_would_fit(keep):
    material = Units(200)
    shown = KEEPS[keep].choose(material)
    assert material.price(shown) + 10 > 200


@every_policy
@every_shape
@pytest.mark.parametrize("limit", [as_nightly(3), 15, 60, as_nightly(300)])
def test_a_window_recounts_to_at_most_the_limit(keep, shape, limit):
    for output, offset in itertools.product(FORMS, (0, 25)):
        sample = Sample(SAMPLES[shape], shape)
        assert recount(sample.shown(limit, offset=offset, keep=keep, output=output)) <= limit


@every_policy
@every_shape
def test_every_gap_has_a_mark_in_its_place(keep, shape):
    sample = Sample(SAMPLES[shape], shape)
    cut = sample.window(200, keep=keep)
    shown = sample.shown(200, keep=keep)
    assert cut.gaps
    if KEEPS[keep].survey is None:
        assert shown.count(MARK.encode()) == len(cut.gaps)
    elif sample.shape.mark_has_note:
        # Many gaps: each is a short line, and the mark is the last line.
        assert len([line for line in shown.splitlines() if GAP.fullmatch(line)]) == len(cut.gaps)
        assert shown.splitlines()[-1].startswith(MARK.encode())
        assert shown.count(MARK.encode()) == 1
    else:
        # In an object one mark stands for all gaps; a gap may leave parts of several values out.
        assert shown.count(MARK.encode()) >= 1


@every_policy
@every_shape
def test_without_a_sentinel_there_is_no_mark(keep, shape):
    cut = Sample(SAMPLES[shape], shape).window(200, keep=keep, sentinel="")
    assert cut.gaps
    assert b"TRUNCATED" not in Sample(SAMPLES[shape], shape).shown(200, keep=keep, sentinel="")


@every_policy
@every_shape
def test_what_fits_is_shown_whole(keep, shape):
    assert Sample(SAMPLES[shape], shape).shown(50_000, keep=keep) == SAMPLES[shape]


@every_policy
@every_shape
@pytest.mark.parametrize("limit", [80, as_nightly(110), as_nightly(159)])
def test_a_mark_says_how_much_is_shown_of_how_much_unless_the_limit_is_very_small(
    inside, with_store, keep, shape, limit
):
    ran = inside("-n", str(limit), "--keep", keep, stdin=SAMPLES[shape] * (1 if shape == "json" else 3))
    assert re.search(rb"\d/\d+ tokens; |\d of about \d+k? tokens; ", ran.out + ran.err)
