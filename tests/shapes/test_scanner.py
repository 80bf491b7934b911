"""The JSON scanner: spans in valid text, comments where they are allowed, pointers, any depth."""

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokcap.shapes.json_grammar import validated_value
from tokcap.shapes.json_scanner import (
    SCALAR,
    NotJson,
    end_of_string,
    end_of_value,
    members,
    walk,
)
from tokcap.shapes.paths import as_step, has_bad_escape, steps_of

DEPTH = 100_000
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)
INDENTS = st.sampled_from([None, 0, 2])


@pytest.mark.parametrize("text", [b"[1,]", b"[1 // one\n]", b'{"a":1,}', b"/* x */ 1"])
def test_comments_and_trailing_commas_are_not_json(text):
    with pytest.raises(NotJson):
        validated_value(text, 0)


@given(keys=st.lists(st.text() | st.text("~/01a"), min_size=1))
def test_steps_of_a_pointer_are_the_keys_that_it_was_made_from(keys):
    pointer = "".join("/" + as_step(key) for key in keys)
    assert list(steps_of(pointer)) == keys
    assert not has_bad_escape(pointer)


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


@given(text=st.text(alphabet='ab"\\\n\u4e2d', max_size=200), repeat=st.sampled_from([1, 100, 2000]))
def test_a_string_of_any_length_ends_where_a_parser_ends_it(text, repeat):
    string = json.dumps(text * repeat).encode()
    data = b"[" + string + b', {"a": ' + string + b"}]"
    scalars = [data[start:end] for event, _, start, end in walk(data, 0) if event == SCALAR]
    assert scalars == [string, string]
    assert end_of_string(data, 1) == end_of_value(data, 1) == 1 + len(string)
