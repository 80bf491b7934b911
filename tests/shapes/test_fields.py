"""`--fields` keeps what is named, as it is written, before anything is counted."""

import pytest

from tests.support.payloads import payload_of
from tests.support.reference import recount
from tokcap.shapes.paths import select

DOCUMENT = (
    b'{ "id": 1.10, "a.b": 5, "user": {"name": "x", "age": 1E3}, '
    b'"items": [{"name": "p", "n": 1}, 7, {"n": 2}], "id": 2 }'
)


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ("id", b'{"id":1.10,"id":2}'),
        ("user", b'{"user":{"name":"x","age":1E3}}'),
        ("user.age", b'{"user":{"age":1E3}}'),
        ("items.name", b'{"items":[{"name":"p"},{}]}'),
        (" id , items.n ", b'{"id":1.10,"items":[{"n":1},{"n":2}],"id":2}'),
        ("/a.b", b'{"a.b":5}'),
        ("/user/name", b'{"user":{"name":"x"}}'),
    ],
)
def test_members_are_selected_through_arrays_and_copied_as_they_stand(fields, kept):
    selected = select(payload_of(DOCUMENT), "json", fields)
    assert selected.data == kept + b"\n"
    assert selected.notices == ()


def test_records_of_an_array_and_of_lines_are_selected_one_by_one():
    assert select(payload_of(b'[{"a":1,"b":2},{"b":3}]'), "json", "a").data == b'[{"a":1},{}]\n'
    assert select(payload_of(b'{"a":1,"b":2}\n{"a":3}\n'), "jsonl", "a").data == b'{"a":1}\n{"a":3}\n'


@pytest.mark.parametrize(
    ("fields", "kept"),
    [("id", b"id\r\n1\r\n2\r\n"), ("note,id", b'id,note\r\n1,"a, b"\r\n2,x\r\n')],
)
def test_columns_are_selected_in_their_own_order(fields, kept):
    table = b'id,name,note\r\n1,n,"a, b"\r\n2,m,x\r\n'
    assert select(payload_of(table), "csv", fields).data == kept


def test_a_name_that_matches_nothing_is_a_warning_that_lists_the_names_there_are():
    (notice,) = select(payload_of(DOCUMENT), "json", "id,nam").notices
    assert notice.code == "FIELD_UNKNOWN"
    assert notice.message == "no field nam: the fields are id, a.b, user, items"


@pytest.mark.parametrize("data", [b"a,b\n1,2\n3,4\n", b'{"a":1,"b":{"c":2}}\n', b'{"a":1}\n{"b":2}\n'])
def test_fields_that_match_nothing_are_refused_and_no_output_is_lost(inside, with_store, data):
    message = b"no field c, x.y: the fields are a, b"
    ran = inside("--fields", "c,x.y", stdin=data)
    assert (ran.status, ran.out, ran.err) == (
        125,
        data,
        b"tokcap: warning: " + message + b"; everything is shown\n",
    )
    # A command keeps its status.
    ran = inside("--fields", "c,x.y", "--spill", "always", "--", "printf", data.decode())
    assert (ran.status, ran.out) == (0, data)
    ran = inside("show", "@last", "--fields", "c,x.y")
    assert (ran.status, ran.out, ran.err) == (1, b"", b"tokcap: " + message + b"\n")


def test_text_has_no_fields():
    selected = select(payload_of(b"words\n"), "text", "a")
    assert (selected.data, selected.notices[0].code) == (b"words\n", "FIELDS_IGNORED")


def test_fields_are_selected_before_counting(inside):
    data = b'[{"id":1,"body":"many words here"},{"id":2,"body":"and more"}]\n'
    kept = b'[{"id":1},{"id":2}]\n'
    assert inside("--fields", "id", stdin=data).out == kept
    assert inside("--fields", "id", "-n", "30", stdin=data).out == kept
    assert inside("--fields", "id", "--token-count", stdin=data).out == b"%d\n" % recount(kept)
    envelope = inside("--fields", "id,x", "-o", "json", stdin=data).json
    assert envelope["data"] == [{"id": 1}, {"id": 2}]
    assert envelope["warnings"][0]["code"] == "FIELD_UNKNOWN"
    assert envelope["meta"]["total_tokens"] == recount(kept)


def test_a_bare_scalar_has_no_fields(inside):
    ran = inside("--fields", "a", "-o", "json", stdin=b"5\n")
    assert ran.json["data"] == []
    assert [warning["code"] for warning in ran.json["warnings"]] == ["FIELD_UNKNOWN"]


def test_records_are_counted_after_the_selection(inside):
    meta = inside("--fields", "x", "-o", "json", stdin=b'{"rows":[1,2,3],"x":5}').json["meta"]
    assert "total_count" not in meta
    ran = inside("--fields", "zz", "-o", "json", stdin=rb'{"\ud800":1}')
    assert "\ufffd" in ran.json["warnings"][0]["message"]
