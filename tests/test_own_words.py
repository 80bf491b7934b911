"""tokcap's own words on stderr are part of a capped answer: inside the limit, counted with the rest."""

import json
import os
import re
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.marks import way_in
from tests.support.reference import recount
from tests.support.tiers import examples, some_everyday, times
from tokcap.__main__ import call
from tokcap.environment import Environment

SEQ = b"".join(b"%d\n" % n for n in range(1, 3001))
LIST = json.dumps([{"id": n, "name": f"item {n}"} for n in range(200)]).encode()
OBJECT = json.dumps({"shop": "north", "orders": [{"id": n, "state": "open"} for n in range(99)]}).encode()
LINES = b"".join(b'{"id":%d,"state":"open"}\n' % n for n in range(200))
CSV = b"id,name,state\n" + b"".join(b"%d,item %d,open\n" % (n, n) for n in range(200))
TSV = CSV.replace(b",", b"\t")
STRUCTURED = {"list": LIST, "object": OBJECT, "jsonl": LINES, "csv": CSV, "tsv": TSV}
SENTINEL = b"[TRUNCATED]"
# The sentinel and its newline.
SENTINEL_TOKENS = 5


def together(*args: str, stdin: bytes = b"") -> bytes:
    """Return what a call writes if both streams go to the same place."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as written:
        given.write(stdin)
        given.seek(0)
        env = Environment({**os.environ}, given.fileno(), written.fileno(), written.fileno())
        call(args, env)
        written.seek(0)
        return written.read()


@pytest.fixture
def refused_store(with_store):
    with_store.write_text("in the way")
    return with_store


@pytest.mark.parametrize("limit", [1, 2, 5, 8, 12, 20, 33, 60, 200])
@pytest.mark.parametrize("payload", [SEQ, LIST, CSV], ids=["text", "json", "csv"])
def test_a_refused_store_does_not_break_the_cap(refused_store, limit, payload):
    written = together("-n", str(limit), stdin=payload)
    assert recount(written) <= limit
    if limit >= 20:
        assert b"not stored" in written
        assert b"tokcap show" not in written


def test_a_warning_gets_shorter_before_it_is_left_out(refused_store, inside):
    limits = ("200", "30", "14", "8")
    full, brief, short, none = (inside("-n", limit, stdin=SEQ).err for limit in limits)
    assert full.startswith(b"tokcap: warning: the output was not stored: ")
    assert brief == b"tokcap: warning: the output was not stored\n"
    assert short == b"tokcap: not stored\n"
    assert none == b""


def test_an_output_that_fits_is_not_cut_for_a_warning(inside):
    text = b"password=hunter2hunter2\n" + b"word " * 40 + b"\n"
    limit = recount(inside("--redact", stdin=text).out)
    ran = inside("--redact", "-n", str(limit), stdin=text)
    assert SENTINEL not in ran.out
    assert recount(ran.out + ran.err) <= limit
    assert b"masked" in inside("--redact", "-n", str(limit + 40), stdin=text).err


@pytest.mark.parametrize("limit", some_everyday([1, 3, 9, 20, 45, 100, 400], 4))
@pytest.mark.parametrize("stderr", ["separate", "merge", "pass", "drop"])
def test_words_and_the_stderr_of_a_command_are_inside_together(refused_store, limit, stderr):
    script = "seq 1 500; echo problem >&2; seq 1 200 >&2; exit 3"
    written = together("-n", str(limit), "--stderr", stderr, "--", "sh", "-c", script)
    passed = b"problem\n" + b"".join(b"%d\n" % n for n in range(1, 201)) if stderr == "pass" else b""
    assert recount(written) <= limit + recount(passed)


def test_a_charge_that_fails_is_reported_inside_the_limit(with_store, inside, monkeypatch):
    inside("budget", "start", "work", "--total", "100000")

    def fail(*_args):
        raise OSError("the ledger is gone")

    monkeypatch.setattr("tokcap.budget.base.SessionView.settle", fail)
    for limit in (60, 200):
        ran = inside("--session", "work", "-n", str(limit), stdin=SEQ)
        assert b"not charged" in ran.err
        assert recount(ran.out + ran.err) <= limit
    envelope = inside("--session", "work", "-n", "60", "-o", "json", stdin=SEQ).json
    assert [warning["code"] for warning in envelope["warnings"]] == ["NOT_CHARGED"]


@pytest.mark.parametrize("limit", [14, 25, 60])
def test_an_unreadable_rest_is_reported_inside_the_limit(inside, limit, monkeypatch):
    from tokcap.errors import StreamError
    from tokcap.source.stdin import StandardInput

    def broken(_self):
        yield "out", SEQ
        raise StreamError("cannot read standard input: Input/output error")

    monkeypatch.setattr(StandardInput, "blocks", broken)
    ran = inside("-n", str(limit), stdin=SEQ)
    assert ran.status == 125
    assert recount(ran.out + ran.err) <= limit
    assert ran.err in (b"tokcap: cannot read standard input: Input/output error\n", b"tokcap: io error\n")


@pytest.mark.parametrize("limit", some_everyday(range(40, 400, 61), 2))
@pytest.mark.parametrize("keep", ["head", "tail", "ends"])
@pytest.mark.parametrize("name", STRUCTURED)
def test_a_structured_cut_names_its_command_on_stderr(with_store, inside, name, keep, limit):
    ran = inside("-n", str(limit), "--keep", keep, stdin=STRUCTURED[name])
    assert recount(ran.out + ran.err) <= limit
    assert recount(ran.out) + recount(ran.err) <= limit
    line = ran.err.strip().splitlines()[0].decode()
    assert line.startswith("[TRUNCATED] ")
    assert SENTINEL in ran.out
    words = way_in(line)
    assert words[0] == "show"
    # The command works, and goes on where this window ends.
    page = inside(*words, "-n", "100000", "-o", "json").json
    envelope = inside("-n", str(limit), "--keep", keep, "-o", "json", stdin=STRUCTURED[name]).json
    assert page["meta"]["handle"] == envelope["meta"]["handle"]
    assert page["data"]


def test_the_note_of_a_structured_cut_has_the_words_of_a_text_mark(with_store, inside):
    note = inside("-n", "200", stdin=LIST).err.strip()
    envelope = inside("-n", "200", "-o", "json", stdin=LIST).json
    assert re.match(rb"\[TRUNCATED\] \d+/\d+ tokens; tokcap show ", note)
    assert re.match(r"\d+/\d+ tokens; tokcap show ", envelope["meta"]["truncation_hint"])


@pytest.mark.parametrize("options", [["--stderr", mode] for mode in ("separate", "merge", "pass", "drop")])
def test_every_treatment_of_stderr_has_the_note(with_store, inside, tmp_path, options):
    (tmp_path / "list.json").write_bytes(LIST)
    ran = inside("-n", "200", *options, "--", "cat", str(tmp_path / "list.json"))
    assert re.search(rb"\[TRUNCATED\] \d+/\d+ tokens; tokcap show ", ran.err)
    assert recount(ran.out + ran.err) <= 200


@pytest.mark.parametrize("limit", [50, 60, 100, 300])
@pytest.mark.parametrize("mode", ["table", "summary", "handle_only"])
@pytest.mark.parametrize("name", STRUCTURED)
def test_every_mode_names_a_command_for_what_it_withholds(with_store, inside, name, mode, limit):
    ran = inside("-n", str(limit), "--mode", mode, stdin=STRUCTURED[name])
    assert recount(ran.out + ran.err) <= limit
    assert b"tokcap show " in ran.out + ran.err


def test_a_value_that_is_left_out_names_the_command_that_shows_it(with_store, inside):
    document = json.dumps({"id": 1, "body": "word " * 500}).encode()
    ran = inside("-n", "80", stdin=document)
    assert ran.out == b'{"id":1,"body":"[TRUNCATED]"}'
    note = ran.err.split(b"\n")[1].decode()
    assert note.startswith("[TRUNCATED] tokcap show ")
    assert note.endswith(" --pointer /body")
    assert inside(*way_in(note), "-n", "5000").out == b"word " * 500
    assert recount(ran.out + ran.err) <= 80


@pytest.mark.parametrize("name", [*STRUCTURED, "text"])
@pytest.mark.parametrize("keep", ["head", "tail", "ends"])
def test_no_limit_hides_that_something_is_withheld(inside, name, keep):
    payload = STRUCTURED.get(name, SEQ)
    limits = range(1, 81) if times() > 1 else (1, 4, 5, 7, 8, 23, 80)
    for limit in limits:
        ran = inside("-n", str(limit), "--keep", keep, stdin=payload)
        assert recount(ran.out + ran.err) <= limit
        if name == "text":
            # Below this the payload has no room for the sentinel after its first line.
            assert limit < 8 or SENTINEL in ran.out
        elif limit >= SENTINEL_TOKENS:
            assert SENTINEL in ran.out + ran.err
        else:
            assert (ran.out, ran.err) == ("…\n".encode(), b"")


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=40)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=8), st.dictionaries(st.text(max_size=8), inner, max_size=8)
    ),
    max_leaves=40,
)


@examples(40)
@given(
    values=st.lists(VALUES, min_size=1, max_size=12),
    limit=st.integers(1, 80),
    form=st.sampled_from(["json", "jsonl", "pretty"]),
    output=st.sampled_from(["text", "json", "jsonl"]),
    keep=st.sampled_from(["head", "tail", "ends"]),
)
def test_a_reader_always_sees_that_something_is_withheld(inside, values, limit, form, output, keep):
    if form == "jsonl":
        payload, shape = "".join(json.dumps(value) + "\n" for value in values).encode(), "jsonl"
    else:
        payload, shape = json.dumps(values, indent=2 if form == "pretty" else None).encode(), "json"
    ran = inside("-n", str(limit), "-o", output, "--keep", keep, "--shape", shape, stdin=payload)
    if output != "text":
        meta = json.loads(ran.out.splitlines()[-1])["meta"]
        shown = json.loads(ran.out)["data"] if output == "json" else None
        assert meta["truncated"] or shown in (None, values)
        return
    assert recount(ran.out + ran.err) <= limit
    try:
        if shape == "json":
            is_whole = json.loads(ran.out) == values
        else:
            is_whole = [json.loads(line) for line in ran.out.splitlines()] == values
    except ValueError:
        is_whole = False
    assert is_whole or SENTINEL in ran.out + ran.err or (ran.out == "…\n".encode() and limit < 5)


@pytest.mark.parametrize("name", ["text", *STRUCTURED])
def test_an_offset_past_the_end_is_reported_inside_the_limit(inside, name):
    payload = STRUCTURED.get(name, SEQ)
    for limit in (5, 30):
        ran = inside("-n", str(limit), "--token-offset", "99999", stdin=payload)
        assert (ran.out, ran.status) == (b"", 0)
        assert recount(ran.err) <= limit
    assert ran.err.startswith(b"tokcap: warning: nothing is at offset 99999: the output has ")


EMPTY = [
    (b"{" + b" " * 9000 + b"}", b"{}"),
    (b"[" + b" \n" * 9000 + b"]\n", b"[]\n"),
    (b'{"a": {' + b" " * 90_000 + b"}}", b'{"a":{}}'),
    (b"[[], [" + b"\t" * 9000 + b"], {" + b"\n" * 9000 + b"}]", b"[[],[],{}]"),
    (b"{" + b" " * 9000 + b"}\n[" + b" " * 9000 + b"]\n", b"{}\n[]\n"),
    (b'{"a": 1,' + b" " * 9000 + b'"b": []}', b'{"a":1,"b":[]}'),
]


@pytest.mark.parametrize(("payload", "expected"), EMPTY)
def test_white_space_is_not_withheld_and_an_empty_container_is_shown(with_store, inside, payload, expected):
    ran = inside("-n", "30", stdin=payload)
    assert (ran.out, ran.err) == (expected, b"")
    envelope = inside("-n", "30", "-o", "json", stdin=payload).json
    values = [json.loads(line) for line in expected.splitlines()]
    assert envelope["data"] == (values if len(values) > 1 else values[0])
    assert envelope["meta"]["truncated"] is False
    assert "next_offset" not in envelope["meta"]


def test_a_table_without_rows_shows_its_header_or_the_mark(inside):
    header = b"id,name" + b" " * 500 + b"\n"
    assert inside("-n", "30", "--shape", "csv", stdin=header).out == header
    assert (
        inside("-n", "30", "--shape", "csv", stdin=b"id," + b"name " * 500 + b"\n").out == b"[TRUNCATED],\n"
    )


def test_words_reach_a_library_apart_from_the_stderr_of_the_command(with_store):
    import tokcap

    result = tokcap.run(["sh", "-c", f"echo problem >&2; echo '{LIST.decode()}'"], limit=220)
    assert result.stderr == "problem\n"
    assert re.match(rb"\[TRUNCATED\] \d+/\d+ tokens; tokcap show ", result.words)
    assert recount(result.data + result.stderr_data + result.words) <= 220


def test_words_reach_a_library_without_a_limit_too():
    import tokcap

    result = tokcap.run(["sh", "-c", "echo DB_PASSWORD=hunter22; printf x >&2"], limit=None, redact=True)
    assert result.stderr == "x"
    assert result.words == b"\ntokcap: warning: masked 1 secret: 1 password\n"


@pytest.mark.parametrize("piece", some_everyday(["word ", "1 2 3 ", "é\x01", "👍🏽"], 2), ids=ascii)
@pytest.mark.parametrize(("form", "least"), [("text", 40), ("json", 150), ("jsonl", 150)])
def test_a_failure_that_quotes_a_long_word_stays_within_the_limit(with_store, inside, piece, form, least):
    inside("budget", "start", "work", "--total", "100000")
    for limit in (5, 700):
        for session in ([], ["--session", "work"]):
            ran = inside("-n", str(limit), "-o", form, *session, "--", piece * 900)
            assert ran.status == 127
            assert ran.err.startswith(b"tokcap: " + piece[0].encode())
            # With a session, the envelope is not part of the limit.
            part = ran.err if session else ran.out + ran.err
            assert recount(part) <= max(limit, least) + (600 if session and form != "text" else 0)


def test_a_call_that_cannot_be_parsed_does_not_repeat_everything(inside):
    for word in ("--" + "long " * 5000, "--token-limit=" + "9" * 5000 + "x"):
        ran = inside("-o", "json", word)
        assert ran.status == 125
        assert ran.json["error"]["code"] == "USAGE"
        assert recount(ran.out + ran.err) <= 800


@pytest.mark.parametrize(
    "document", [b'"' + b"word " * 900 + b'"', b"12345678" * 900], ids=["string", "number"]
)
@pytest.mark.parametrize("mode", ["raw", "table"])
def test_a_document_that_is_one_long_value_names_the_command_that_shows_it(
    with_store, inside, document, mode
):
    ran = inside("-n", "100", "--mode", mode, "--shape", "json", stdin=document)
    assert recount(ran.out + ran.err) <= 100
    assert inside(*way_in(ran.err), "-n", "9000").out == document


def test_a_value_too_deep_for_a_pointer_names_the_command_that_shows_the_document(with_store, inside):
    document = b"[" * 300 + b"1" + b"]" * 300
    ran = inside("-n", "100", stdin=document)
    assert recount(ran.out + ran.err) <= 100
    assert inside(*way_in(ran.err), "-n", "9000").out == document
