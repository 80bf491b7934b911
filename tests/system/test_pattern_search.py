"""The search with a caller's pattern finds what `re` finds, and always ends."""

from __future__ import annotations

import re
import signal
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.processes import children_of, state_of, wait_for
from tests.support.tiers import examples
from tokcap.errors import PatternTooSlow
from tokcap.system.pattern_search import PatternSearch

ENDLESS = "(a+)+$"
NO_MATCH = b"a" * 60 + b"b"
SEARCHING = (
    "from tokcap.system.pattern_search import PatternSearch\n"
    f"with PatternSearch({ENDLESS!r}, '--grep') as search: search.places_in({NO_MATCH!r})"
)
LINES = st.lists(
    st.binary(max_size=6) | st.sampled_from([b"a1", b"\xff\xe9", "é".encode(), b"x\r"]), max_size=8
)


@examples(15)
@given(blocks=st.lists(LINES, max_size=4), pattern=st.sampled_from(["a", r"^\w+$", r"\d|é", "$", "[^x]"]))
def test_every_line_is_searched_as_re_does_it(blocks, pattern):
    with PatternSearch(pattern, "--grep") as search:
        for lines in blocks:
            texts = b"\n".join(lines).removesuffix(b"\n").split(b"\n")
            expected = {}
            for number, line in enumerate(texts):
                text = line.removesuffix(b"\r").decode("utf-8", "surrogateescape")
                if match := re.search(pattern, text):
                    expected[number] = [match.start()]
            assert search.places_in(b"\n".join(lines)) == expected


def test_of_a_long_line_all_matches_are_found_that_are_far_enough_apart():
    with PatternSearch("x", "--grep", long_characters=5, apart_characters=3) as search:
        assert search.places_in(b"xxxxx\nxxxxxxxx\nab") == {0: [0], 1: [0, 3, 6]}


def test_a_pattern_that_takes_too_long_is_stopped_and_named():
    with PatternSearch(ENDLESS, "--grep") as search:
        assert search.places_in(b"aaa") == {0: [0]}
        with pytest.raises(
            PatternTooSlow, match=re.escape(f"--grep: the pattern {ENDLESS!r} takes too long")
        ):
            search.places_in(NO_MATCH)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_search_ends_with_the_process_that_asked_for_it(number):
    with subprocess.Popen([sys.executable, "-c", SEARCHING], stderr=subprocess.DEVNULL) as asking:
        [child] = children_of(asking.pid)
        asking.send_signal(number)
        assert asking.wait() == -number
        wait_for(lambda: state_of(child) in ("", "Z"))
