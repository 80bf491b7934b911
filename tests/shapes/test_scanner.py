"""The JSON scanner: spans in valid text, comments where they are allowed, pointers, any depth."""

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.tiers import as_nightly, examples
from tokcap.shapes.json_text.grammar import validated_value
from tokcap.shapes.json_text.pointers import as_step, has_bad_escape, index_of, steps_of
from tokcap.shapes.json_text.scanner import (
    CLOSED,
    OPENED,
    SCALAR,
    NotJson,
    elements,
    end_of_string,
    end_of_value,
    members,
    string_text,
    values,
    walk,
)

DEPTH = 100_000
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)
INDENTS = st.sampled_from([None, 0, 2])
SETTINGS = b"""// first { comment
{
  "a": 1, /* "b": [ */
  "c": [1, /* ] */ 2,],  // one } more
  "d": {"e": "// no comment",},
}
"""


@given(value=VALUES, indent=INDENTS)
def test_spans_hold_what_a_parser_finds(value, indent):
    data = json.dumps(value, indent=indent).encode()
    assert end_of_value(data, 0) == len(data)
    if isinstance(value, list):
        assert [json.loads(data[slice(*span)]) for span in elements(data, 0)] == value
    if isinstance(value, dict):
        found = [(string_text(data[slice(*key)]), data[slice(*span)]) for key, span in members(data, 0)]
        assert [(key, json.loads(text)) for key, text in found] == list(value.items())


@examples(20)
@given(many=st.lists(VALUES, max_size=5), blank=st.sampled_from([" ", "\n", "\r\n\t"]))
def test_values_in_a_row_are_told_apart(many, blank):
    data = blank.join(map(json.dumps, many)).encode()
    assert [json.loads(data[slice(*span)]) for span in values(data, 0)] == many


@given(value=VALUES, indent=INDENTS)
def test_a_walk_opens_and_closes_every_container_and_meets_every_scalar(value, indent):
    data = json.dumps(value, indent=indent).encode()
    depth, scalars = 0, 0
    for event, _, start, end in walk(data, 0):
        depth += (event == OPENED) - (event == CLOSED)
        if event not in (OPENED, CLOSED):
            json.loads(data[start:end])
            scalars += 1
    assert depth == 0
    assert scalars == count_scalars(value)


def count_scalars(value) -> int:
    if isinstance(value, dict):
        return sum(map(count_scalars, value.values()))
    return sum(map(count_scalars, value)) if isinstance(value, list) else 1


def test_members_are_found_among_comments_and_trailing_commas():
    start, end = validated_value(SETTINGS, 0, tolerant=True)
    assert SETTINGS[start:end].startswith(b"{")
    assert end == len(SETTINGS) - 1
    found = {
        string_text(SETTINGS[slice(*key)]): SETTINGS[slice(*value)]
        for key, value in members(SETTINGS, start, tolerant=True)
    }
    assert found == {"a": b"1", "c": b"[1, /* ] */ 2,]", "d": b'{"e": "// no comment",}'}
    inside = SETTINGS.index(b"[1,")
    assert [SETTINGS[slice(*span)] for span in elements(SETTINGS, inside, tolerant=True)] == [b"1", b"2"]


@pytest.mark.parametrize("text", [b"[1,]", b"[1 // one\n]", b'{"a":1,}', b"/* x */ 1"])
def test_comments_and_trailing_commas_are_not_json(text):
    validated_value(text, 0, tolerant=True)
    with pytest.raises(NotJson):
        validated_value(text, 0)


@pytest.mark.parametrize("text", [b"[,]", b"{,}", b'{"a"}', b"[1 2]", b"/* open 1", b"[1}"])
def test_other_mistakes_are_found_even_if_it_is_tolerant(text):
    with pytest.raises(NotJson):
        validated_value(text, 0, tolerant=True)


@pytest.mark.parametrize("opener", ["[", as_nightly('{"a":')])
def test_nesting_may_be_100_000_levels_deep(opener):
    closer = "]" if opener == "[" else "}"
    data = (opener * DEPTH + "1" + closer * DEPTH).encode()
    assert validated_value(data, 0) == (0, len(data))
    assert end_of_value(data, 0) == len(data)
    assert sum(1 for _ in walk(data, 0)) == 2 * DEPTH + 1
    found = next(elements(data, 0)) if opener == "[" else next(members(data, 0))[1]
    assert found == (len(opener), len(data) - 1)


@given(keys=st.lists(st.text() | st.text("~/01a"), min_size=1))
def test_steps_of_a_pointer_are_the_keys_that_it_was_made_from(keys):
    pointer = "".join("/" + as_step(key) for key in keys)
    assert list(steps_of(pointer)) == keys
    assert not has_bad_escape(pointer)


@pytest.mark.parametrize(
    ("step", "index"), [("0", 0), ("12", 12), ("01", -1), ("-1", -1), ("", -1), ("²", -1)]
)
def test_an_index_has_no_leading_zero(step, index):
    assert index_of(step) == index


@pytest.mark.parametrize("pointer", ["/~", "/a~2", "/~~0"])
def test_an_escape_must_be_0_or_1(pointer):
    assert has_bad_escape(pointer)


def test_a_comment_may_follow_a_number_without_a_blank():
    text = b'{"a": 1// one\n, "b": [2/* two */, 3//]\n]}'
    found = {text[slice(*key)]: text[slice(*value)] for key, value in members(text, 0, tolerant=True)}
    assert found[b'"a"'] == b"1"
    start = text.index(b"[")
    assert [text[slice(*span)] for span in elements(text, start, tolerant=True)] == [b"2", b"3"]


class Counted(bytes):
    """A text that counts how many of its bytes were searched for a quote."""

    searched = 0

    def find(self, sign, start=0, end=sys.maxsize):
        found = super().find(sign, start, end)
        self.searched += (found + 1 if found >= 0 else len(self)) - start
        return found


LONG_STRINGS = {
    "plain": b"a line of a log ",
    "one character": b"x",
    "line breaks": b"a line of a log\\n",
    "quotes": rb"{\"name\": \"a\"}, ",
    "quotes far apart": rb"say \"yes\"" + b" and go on" * 20,
    "only quotes": rb"\"",
    "only backslashes": rb"\\",
    "backslashes and quotes": rb"\\\"\\\\\"" + b" " * 70,
    "Chinese": "中文".encode(),
}


@pytest.mark.parametrize("unit", LONG_STRINGS.values(), ids=LONG_STRINGS)
@pytest.mark.parametrize("ending", [b"", rb"\\", rb"\"", rb"\\\""])
def test_the_end_of_a_long_string_is_found_in_one_search(unit, ending):
    string = b'"' + unit * (300_000 // len(unit)) + ending + b'"'
    data = Counted(b'{"a": ' + string + b', "b": [' + string + b", 1]}")
    found = [(event, data[start:end]) for event, _, start, end in walk(data, 0)]
    assert [text for event, text in found if event == SCALAR] == [string, string, b"1"]
    # A quadratic search would visit the rest of the string at every quote.
    assert data.searched <= 2 * len(string)
    assert end_of_value(data, 6) == 6 + len(string)
    assert [data[slice(*value)] for _, value in members(data, 0)] == [string, b"[" + string + b", 1]"]


def test_a_long_string_without_its_end_goes_to_the_end_of_the_text():
    data = b'["' + b"x" * 10_000
    assert [(start, end) for _, _, start, end in walk(data, 0)] == [(0, 1), (1, len(data))]
    assert end_of_value(data, 1) == len(data)


@given(text=st.text(alphabet='ab"\\\n\u4e2d', max_size=200), repeat=st.sampled_from([1, 100, 2000]))
def test_a_string_of_any_length_ends_where_a_parser_ends_it(text, repeat):
    string = json.dumps(text * repeat).encode()
    data = b"[" + string + b', {"a": ' + string + b"}]"
    scalars = [data[start:end] for event, _, start, end in walk(data, 0) if event == SCALAR]
    assert scalars == [string, string]
    assert end_of_string(data, 1) == end_of_value(data, 1) == 1 + len(string)
