"""The contract of every filter in the table, and a filter that is added from outside."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokcap.core.response import Notice
from tokcap.filters import FILTERS, chain, notices_of

PIECES = [
    b"a",
    b" ",
    b"\n",
    b"\r",
    b"\x1b[31m",
    b"\x1b[K",
    b"password=hunter2",
    b"\xc3",
    b"\xff",
    b"one\ntwo\n",
]
streams = st.lists(st.sampled_from(PIECES) | st.binary(max_size=3), max_size=30)


class AnyOptions:
    """A request that turns some filters on."""

    def __init__(self, *options):
        for option in options:
            setattr(self, option, True)


def passed_through(filters, blocks):
    for one in filters:
        blocks = [*map(one.feed, blocks), one.flush()]
    return b"".join(blocks)


@pytest.mark.parametrize("name", [*FILTERS])
class TestEveryFilter:
    @given(blocks=streams)
    def test_gives_the_same_result_for_every_division_into_blocks(self, name, blocks):
        whole, parts = FILTERS[name](), FILTERS[name]()
        assert passed_through([whole], [b"".join(blocks)]) == passed_through([parts], blocks)
        assert whole.found == parts.found

    @given(blocks=streams)
    def test_changes_nothing_when_it_is_applied_again(self, name, blocks):
        once = passed_through([FILTERS[name]()], blocks)
        assert passed_through([FILTERS[name]()], [once]) == once

    def test_passes_an_empty_stream_and_plain_lines_on(self, name):
        assert passed_through([FILTERS[name]()], []) == b""
        assert passed_through([FILTERS[name]()], [b"one\ntwo\n"]) == b"one\ntwo\n"

    def test_is_in_the_chain_if_its_option_is_on(self, name):
        assert [type(one) for one in chain(AnyOptions(name), {})] == [FILTERS[name]]
        assert chain(AnyOptions(), {}) == []


def test_escapes_are_removed_before_secrets_are_searched():
    filters = chain(AnyOptions("redact", "clean"), {})
    assert passed_through(filters, [b"pass\x1b[1mword=hunt\x1b[0mer2\n"]) == b"password=[REDACTED]\n"


def test_the_counts_of_both_streams_are_reported_once():
    out, err = chain(AnyOptions("clean", "redact"), {}), chain(AnyOptions("clean", "redact"), {})
    passed_through(out, [b"password=hunter2\n"])
    passed_through(err, [b"password=hunter3\n"])
    assert notices_of(out, err) == (Notice("SECRETS_MASKED", "masked 2 secrets: 2 passwords"),)


def test_streams_without_findings_are_not_reported():
    assert (
        notices_of(chain(AnyOptions("clean", "redact"), {}), chain(AnyOptions("clean", "redact"), {})) == ()
    )


class Shouting:
    """A toy filter: upper case, and a count of the blocks."""

    def __init__(self, _variables):
        self.found = {}

    def feed(self, block):
        self.found["block"] = self.found.get("block", 0) + 1
        return block.upper()

    def flush(self):
        return b""

    @staticmethod
    def notice(counts):
        return Notice("SHOUTED", f"{counts['block']} blocks")


@pytest.fixture
def with_shouting():
    # In the place of an existing option, so that the command line can turn it on.
    before = FILTERS._places["clean"]
    FILTERS.add("clean", f"{__name__}:Shouting")
    yield
    FILTERS.add("clean", before)


def test_a_filter_from_outside_works_through_the_command_line(inside, with_shouting):
    ran = inside("--clean", "-n", "50", stdin=b"quiet\n")
    assert (ran.status, ran.out) == (0, b"QUIET\n")
    assert b"1 blocks" in ran.err
