"""The files that we write are the JSON that every parser reads."""

import json

from hypothesis import given
from hypothesis import strategies as st

from tokcap.plainjson import dumps

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(VALUES)
def test_what_is_written_is_what_is_read(value):
    assert json.loads(dumps(value)) == value


def test_it_is_written_for_people_too():
    assert dumps({"a": [1, "é"], "b": {}}) == json.dumps({"a": [1, "é"], "b": {}}, indent=1)


def test_bytes_that_were_no_text_come_back():
    assert json.loads(dumps("\udcff")) == "\udcff"
