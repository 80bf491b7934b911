"""`pages`: joined, they are the original; each is the window that `cap` gives."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.reference import recount
from tests.support.tiers import examples
from tokcap import NotFound, UsageError, cap, pages, run

TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=300),
    st.lists(st.sampled_from(["a line\n", "\n\n", "日本語 🙂 ", "x" * 50, "\r\n", "  "]), max_size=40).map(
        "".join
    ),
)


@examples(60)
@given(text=TEXTS, limit=st.integers(16, 60), align=st.sampled_from(["record", "token"]))
def test_pages_join_to_the_original(text, limit, align):
    found = list(pages(text, limit, align=align))
    assert "".join(page.text for page in found) == text
    assert all(recount(page.data) <= limit for page in found)
    assert [page.next_offset is None for page in found] == [False] * (len(found) - 1) + [True]


@pytest.mark.parametrize("shape", ["text", "auto", "json"])
@pytest.mark.parametrize("sentinel", ["", "[TRUNCATED]"])
def test_a_page_is_the_window_that_cap_gives(shape, sentinel):
    text = json.dumps([{"number": number, "name": f"item {number}"} for number in range(300)], indent=1)
    found = list(pages(text, 200, shape=shape, sentinel=sentinel))
    assert len(found) > 10
    offset = 0
    for page in found:
        alone = cap(text, 200, offset=offset, shape=shape, sentinel=sentinel)
        assert (page.text, page.next_offset) == (alone.text, alone.next_offset)
        offset = page.next_offset


def test_a_stored_output_is_paged_by_its_handle(with_store):
    result = run(["sh", "-c", "seq 1 2000; seq 1 300 >&2"], limit=80)
    found = list(pages(handle=result.handle, limit=700))
    assert "".join(page.text for page in found) == "".join(f"{n}\n" for n in range(1, 2001))
    assert len(found) == 8
    errors = pages(handle=result.handle, limit=100, stream="err")
    assert b"".join(page.data for page in errors) == b"".join(b"%d\n" % n for n in range(1, 301))
    with pytest.raises(NotFound):
        next(pages(handle="0000", limit=5))


def test_paging_much_text_counts_it_once():
    """Were each page counted from the beginning, a page of a longer text would be more work."""
    from tokcap.tokens.embedded import EmbeddedTokenizer

    counted = 0

    def counting(original):
        def counts(self, text):
            nonlocal counted
            counted += len(text)
            return original(self, text)

        return counts

    def work_per_page(lines: int) -> float:
        nonlocal counted
        counted = 0
        found = list(pages("".join(f"line number {number}\n" for number in range(lines)), 1000))
        return counted / len(found)

    with pytest.MonkeyPatch.context() as patch:
        for name in ("count", "token_lengths"):
            patch.setattr(EmbeddedTokenizer, name, counting(getattr(EmbeddedTokenizer, name)))
        assert 0 < work_per_page(12_000) < 1.5 * work_per_page(4_000)


def test_a_limit_that_admits_nothing_is_refused_instead_of_going_round_for_ever():
    with pytest.raises(UsageError, match="use 3 or more"):
        list(pages("🧑‍🚀" * 20, 1))


def test_a_page_needs_a_limit_and_one_source():
    for arguments in ({}, {"text": "x", "handle": "y", "limit": 5}):
        with pytest.raises(TypeError, match="a text or a handle"):
            pages(**arguments)
    with pytest.raises(UsageError, match="limit"):
        list(pages("text", None))
