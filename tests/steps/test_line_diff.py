"""A difference of lines and the old text give back the new one. It is short where little differs."""

import random
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.differences import applied
from tokcap.steps.line_diff import compare

# Few different lines, so that many are the same, repeated, and moved. Some look like parts of a difference.
LINES = st.sampled_from(
    [b"a\n", b"b\n", b"c\n", b"\n", b" a\n", b"-a\n", b"+a\n", "… 3 lines the same …\n".encode(), b"\xff\r\n"]
) | st.binary(max_size=6).map(lambda data: data.replace(b"\n", b"") + b"\n")
TEXTS = st.builds(
    lambda lines, end: b"".join(lines) + end, st.lists(LINES, max_size=40), st.sampled_from([b"", b"x"])
)


@given(old=TEXTS, new=TEXTS)
def test_the_old_text_and_the_difference_give_back_the_new_text(old, new):
    found = compare(old, new)
    assert applied(old, found.written()) == new
    assert found.written() == compare(old, new).written()
    assert len(found.new) == len(found.old) + found.added - found.removed


@given(
    lines=st.lists(LINES, min_size=20, max_size=60),
    place=st.integers(0, 60),
    more=st.lists(LINES, max_size=3),
)
def test_one_change_in_a_long_text_is_one_change(lines, place, more):
    new = [*lines[:place], *more, *lines[place + 1 :]]
    found = compare(b"".join(lines), b"".join(new))
    assert applied(b"".join(lines), found.written()) == b"".join(new)
    assert found.removed <= 1 + len(more)
    assert found.added <= 1 + len(more)


def test_the_lines_around_a_change_are_shown_and_the_others_are_counted():
    old = [b"line %d\n" % number for number in range(100)]
    new = [*old[:50], b"changed\n", *old[51:70], *old[80:]]
    assert compare(b"".join(old), b"".join(new)).written().decode() == (
        "… 48 lines the same …\n line 48\n line 49\n-line 50\n+changed\n line 51\n line 52\n"
        "… 15 lines the same …\n line 68\n line 69\n-line 70\n-line 71\n… 6 lines removed …\n"
        "-line 78\n-line 79\n"
        " line 80\n line 81\n… 18 lines the same …\n"
    )


def test_a_newline_that_is_missing_at_the_end_is_a_difference():
    assert compare(b"a\nb\n", b"a\nb").written() == b" a\n-b\n+b\n\\ no newline at the end\n"


@pytest.mark.parametrize("kind", ["similar", "different", "few values", "reversed", "pairs"])
def test_large_texts_are_compared_in_bounded_memory(kind):
    chance = random.Random(1)
    old = [b"line %d\n" % number for number in range(20_000)]
    new = list(old)
    if kind == "similar":
        new[::1000] = [b"changed\n"] * len(new[::1000])
    elif kind == "different":
        new = [b"other %d\n" % number for number in range(20_000)]
    elif kind == "few values":
        old, new = ([b"%d\n" % chance.randrange(3) for _ in old] for _ in range(2))
    elif kind == "reversed":
        new.reverse()
    else:
        old = [line for line in old[:10_000] for _ in range(2)]
        new = old[::-1]
    tracemalloc.start()
    try:
        found = compare(b"".join(old), b"".join(new))
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert applied(b"".join(old), found.written()) == b"".join(new)
    assert peak_bytes < 24 << 20
    if kind == "similar":
        assert (found.added, found.removed) == (20, 20)
