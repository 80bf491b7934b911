"""Windows over JSON and JSON Lines: they parse, they fit, they copy, and walking them loses nothing."""

import itertools
import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support import samples
from tests.support.json_documents import (
    CONTAINERS,
    DOCUMENTS,
    SEQUENCES,
    Source,
    is_within,
    leaves,
    parsed,
)
from tests.support.reference import recount
from tests.support.samples import MARK
from tests.support.tiers import examples
from tokcap import cap
from tokcap.outputs import FORMS

LIMITS = (20, 50, 200)


@examples(40)
@given(
    text=DOCUMENTS,
    limit=st.one_of(st.integers(1, 11), st.integers(12, 200)),
    output=st.sampled_from(["text", "json", "jsonl"]),
    keep=st.sampled_from(["head", "tail", "ends"]),
    sentinel=st.sampled_from([MARK, "", '"✂"']),
)
def test_any_window_of_any_document_parses_and_fits(text, limit, output, keep, sentinel):
    written = Source(text).shown(limit, output, keep=keep, sentinel=sentinel)
    assert recount(written) <= limit
    if output == "jsonl":
        for line in written.splitlines():
            json.loads(line)
    elif written:
        json.loads(written)
    else:
        assert limit < 12 or not sentinel


@examples(25)
@given(text=SEQUENCES, limit=st.integers(1, 150), keep=st.sampled_from(["head", "tail", "ends"]))
def test_any_window_of_any_sequence_is_valid_lines(text, limit, keep):
    source = Source(text, lines=True)
    written = source.shown(limit, "text", keep=keep)
    assert recount(written) <= limit
    if written != text.encode():
        for line in written.splitlines():
            json.loads(line)


# Two values begin in one token, and a window of 20 tokens has no room for both.
TWO_IN_ONE_TOKEN = '[{"a":0,"a":0,"a":0,"a":["\\ud800","","\ud7fc\\u001f"],"b":[\n  0,\n  "\\ud800"\n  ]}]'


def shown_leaves(page):
    """The values of a page, without marks; containers without values are those of a page without room."""
    content = parsed(FORMS["json"].compose(page.parts).decode("utf-8", "surrogatepass"))
    if not content:
        return []
    return [
        value
        for pointer, value in leaves(content)
        if value != MARK and not pointer.rpartition("/")[2].startswith(MARK)
    ]


@examples(40)
@given(text=CONTAINERS, limit=st.sampled_from(LIMITS))
@example(text=TWO_IN_ONE_TOKEN, limit=20)
def test_walking_shows_every_leaf_once_in_order_as_it_is_written_or_warns_of_it(text, limit):
    source = [*leaves(parsed(text))]
    pages = list(Source(text).pages(limit))
    walked = [value for page in pages for value in shown_leaves(page)] if source[0][0] else [source[0][1]]
    warned = [notice.pointer for page in pages for notice in page.notices]
    assert all(notice.code == "FIELD_TRUNCATED" for page in pages for notice in page.notices)
    certain = [
        value
        for pointer, value in source
        if not any(pointer == place or pointer.startswith(place + "/") for place in warned)
    ]
    assert is_within(certain, walked)
    assert is_within(walked, [value for _, value in source])


@examples(25)
@given(text=CONTAINERS, limit=st.sampled_from(LIMITS))
@example(text=TWO_IN_ONE_TOKEN, limit=20)
def test_pointers_tell_where_in_the_source_a_page_lies(text, limit):
    known = [pointer for pointer, _ in leaves(parsed(text))]
    pages = list(Source(text).pages(limit))
    for page, following in itertools.pairwise(pages):
        assert any(
            pointer == page.next_pointer or pointer.startswith(page.next_pointer + "/") for pointer in known
        )
        # One of them may be a container, and the other what is shown in its place or first inside it.
        one, other = sorted((page.next_pointer, following.first_pointer), key=len)
        assert other == one or other.startswith(one + "/") or (other.startswith("/") and not one)


@examples(30)
@given(text=DOCUMENTS, limit=st.integers(12, 100))
def test_every_kept_lexeme_is_byte_identical_to_the_source(text, limit):
    source = text.encode("utf-8", "surrogatepass")
    for lexeme in re.findall(rb'"(?:[^"\\]|\\.)*"|[^\s\[\]{},:"]+', Source(text).shown(limit, "text")):
        assert lexeme in source or MARK.encode() in lexeme or lexeme == b"true"


def test_records_are_whole_and_the_mark_is_the_last_element():
    records = [{"id": n, "name": f"record {n}"} for n in range(10_000)]
    page = Source(json.dumps({"a": records, "b": 1})).window(500)
    shown = json.loads(FORMS["json"].compose(page.parts))
    assert list(shown) == ["a"]
    assert shown["a"][-1] == MARK
    assert shown["a"][:-1] == records[: len(shown["a"]) - 1]
    assert (page.returned_count, page.next_pointer) == (len(shown["a"]) - 1, f"/a/{len(shown['a']) - 1}")


def test_a_value_is_split_only_if_it_fits_into_no_window():
    small, large = list(range(20)), list(range(1000))
    shown = json.loads(Source(json.dumps([small, small, large])).shown(100))
    assert shown[:2] == [small, small]
    assert shown[2][:2] == [0, 1]
    # A value that fits whole into a window of its own waits for it.
    assert json.loads(Source(json.dumps([small, small, small])).shown(100))[-1] == MARK


@pytest.mark.parametrize("keep", ["head", "tail", "ends"])
def test_a_value_of_many_bytes_and_few_tokens_is_shown_whole(keep):
    """2,500 blanks are some twenty tokens: far more bytes than are read for such a window at first."""
    values = [" " * 2500, *range(100)]
    shown = cap(json.dumps(values if keep == "head" else values[::-1]), 80, keep=keep)
    assert values[0] in json.loads(shown.text)
    assert shown.warnings == ()


@pytest.mark.parametrize("keep", ["tail", "ends"])
@pytest.mark.parametrize("limit", [5, 30, 45])
def test_an_end_that_fits_no_record_is_not_looked_for_in_the_rest(monkeypatch, keep, limit):
    counts, count_bytes = [], samples.count_bytes
    monkeypatch.setattr(samples, "count_bytes", lambda *given: counts.append(1) or count_bytes(*given))
    records = [{"id": n, "name": f"record {n}", "body": "lorem ipsum dolor " * 20} for n in range(5000)]
    source = Source("".join(json.dumps(record) + "\n" for record in records), lines=True)
    page = source.window(limit, keep=keep)
    assert page.gap.first == 0 if keep == "tail" else page.gap
    assert len(counts) < 200


def test_the_mark_takes_a_key_that_is_free():
    members = ",".join([f'"{MARK}":0', *(f'"k{n}":{n}' for n in range(100))])
    shown = json.loads(Source("{" + members + "}").shown(40))
    assert shown[MARK] == 0
    assert shown[MARK + "_"] is True


def test_a_scalar_too_large_for_any_window_becomes_the_mark_and_a_warning_tells_its_place_and_size():
    text = json.dumps({"items": [{"id": 1, "body": "word " * 500}, {"id": 2, "body": "short"}]})
    page = Source(text).window(60)
    assert json.loads(FORMS["json"].compose(page.parts))["items"] == [
        {"id": 1, "body": MARK},
        {"id": 2, "body": "short"},
    ]
    (notice,) = page.notices
    assert (notice.code, notice.pointer) == ("FIELD_TRUNCATED", "/items/0/body")
    assert abs(notice.tokens - recount(b'"body": ' + json.dumps("word " * 500).encode())) <= 2
    assert page.gap is None


def test_of_values_that_begin_in_one_token_and_do_not_fit_together_one_is_shown_and_the_others_are_told():
    pages = list(Source(TWO_IN_ONE_TOKEN).pages(20))
    (page,) = (page for page in pages if page.notices)
    assert FORMS["json"].compose(page.parts) == b'[{"a":["","[TRUNCATED]"]}]'
    assert [notice.pointer for notice in page.notices] == ["/0/a/2"]
    assert (page.next_pointer, pages[-1].first_pointer) == ("/0/b", "/0/b")


@pytest.mark.parametrize("keep", ["tail", "ends"])
def test_a_mark_before_other_records_says_how_many_are_hidden(keep):
    shown = json.loads(Source(json.dumps(list(range(1000)))).shown(60, keep=keep))
    place = next(n for n, value in enumerate(shown) if isinstance(value, str))
    hidden = 1000 - (len(shown) - 1)
    assert shown[place] == f"{MARK} {hidden} hidden"
    assert shown[-1] == 999
    assert (place == 0) == (keep == "tail")


def test_the_tail_of_an_object_keeps_the_keys_on_the_way():
    text = json.dumps({"a": 1, "deep": {"list": list(range(500)), "last": True}})
    shown = json.loads(Source(text).shown(50, keep="tail"))
    assert list(shown) == ["deep"]
    assert shown["deep"]["last"] is True
    assert shown["deep"]["list"][0].startswith(MARK)
    assert shown["deep"]["list"][-1] == 499


def test_deep_nesting_does_not_hurt():
    page = Source("[" * 20_000 + "1" + "]" * 20_000).window(100)
    written = FORMS["json"].compose(page.parts)
    assert recount(written) <= 100
    assert json.loads(written)
    assert page.notices[0].code == "FIELD_TRUNCATED"


def test_a_document_that_fits_is_passed_on_as_it_is_and_compact_in_an_envelope():
    text = '{ "a" : 1.10 ,\n  "b" : [ ] }\n'
    assert Source(text).shown(100, "text") == text.encode()
    assert Source(text).shown(100, "json") == b'{"a":1.10,"b":[]}'


def test_a_document_that_only_its_blanks_make_too_long_is_shown_whole_without_them():
    text = json.dumps(list(range(30)), indent=8)
    page = Source(text).window(70, output="text")
    assert json.loads(FORMS["text"].compose(page.parts)) == list(range(30))
    assert page.gap is None


@pytest.mark.parametrize("keep", ["tail", "ends"])
def test_a_small_value_behind_a_large_one_is_shown_at_the_end(keep):
    assert json.loads(Source(json.dumps([1, "word " * 1000, 2])).shown(100, keep=keep))[-1] == 2
    assert (
        json.loads(Source(json.dumps({"a": 1, "s": "word " * 1000, "b": 2})).shown(100, keep=keep))["b"] == 2
    )


def test_a_mark_between_two_parts_of_nested_values_counts_nothing_that_it_does_not_hide():
    text = '[1,{"k":' * 2000 + "1" + ',"z":2},3]' * 2000
    shown = Source(text).shown(60, keep="ends")
    assert b" 0 hidden" not in shown
    json.loads(shown)


def test_deep_documents_with_values_on_the_way_are_cut_in_one_go():
    text = '[1,{"k":' * 5000 + "1" + ',"z":2},3]' * 5000
    assert recount(Source(text).shown(5000)) <= 5000


def test_a_key_with_half_a_surrogate_pair_is_pointed_at_with_a_replacement():
    page = Source(r'{"\ud800":[' + ",".join(map(str, range(300))) + "]}").window(40)
    assert page.first_pointer == "/\ufffd/0"
    assert FORMS["json"].compose(page.parts).startswith(rb'{"\ud800":[0,')
