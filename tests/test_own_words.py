"""tokcap's own words on stderr are part of a capped answer: inside the limit, counted with the rest."""

import json
import re

import pytest

from tests.support.marks import way_in
from tests.support.reference import recount
from tests.support.tiers import some_everyday, times

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


@pytest.fixture
def refused_store(with_store):
    with_store.write_text("in the way")
    return with_store


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


def test_a_charge_that_fails_is_reported_inside_the_limit(with_store, inside, monkeypatch):
    inside("budget", "start", "work", "--total", "100000")

    def fail(*_args):
        raise OSError("the ledger is gone")

    monkeypatch.setattr("tokcap.budget.ledger.SessionView.settle", fail)
    for limit in (60, 200):
        ran = inside("--session", "work", "-n", str(limit), stdin=SEQ)
        assert b"not charged" in ran.err
        assert recount(ran.out + ran.err) <= limit
    envelope = inside("--session", "work", "-n", "210", "-o", "json", stdin=SEQ).json
    assert [warning["code"] for warning in envelope["warnings"]] == ["NOT_CHARGED"]


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
    envelope = inside("-n", "300", "--keep", keep, "-o", "json", stdin=STRUCTURED[name]).json
    assert page["meta"]["handle"] == envelope["meta"]["handle"]
    assert page["data"]


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


@pytest.mark.parametrize("name", ["text", *STRUCTURED])
def test_an_offset_past_the_end_is_reported_inside_the_limit(inside, name):
    payload = STRUCTURED.get(name, SEQ)
    for limit in (5, 30):
        ran = inside("-n", str(limit), "--token-offset", "99999", stdin=payload)
        assert (ran.out, ran.status) == (b"", 0)
        assert recount(ran.err) <= limit
    assert ran.err.startswith(b"tokcap: warning: nothing is at offset 99999: the output has ")


def test_words_reach_a_library_apart_from_the_stderr_of_the_command(with_store):
    import tokcap

    result = tokcap.run(["sh", "-c", f"echo problem >&2; echo '{LIST.decode()}'"], limit=220)
    assert result.stderr == "problem\n"
    assert re.match(rb"\[TRUNCATED\] \d+/\d+ tokens; tokcap show ", result.words)
    assert recount(result.data + result.stderr_data + result.words) <= 220


@pytest.mark.parametrize("piece", some_everyday(["word ", "1 2 3 ", "é\x01", "👍🏽"], 2), ids=ascii)
@pytest.mark.parametrize(("form", "least"), [("text", 40), ("json", 150), ("jsonl", 150)])
def test_a_failure_that_quotes_a_long_word_stays_within_the_limit(with_store, inside, piece, form, least):
    inside("budget", "start", "work", "--total", "100000")
    for limit in (5 if form == "text" else least, 700):
        for session in ([], ["--session", "work"]):
            ran = inside("-n", str(limit), "-o", form, *session, "--", piece * 900)
            assert ran.status == 127
            assert ran.err.startswith(b"tokcap: " + piece[0].encode())
            assert recount(ran.out + ran.err) <= max(limit, least)


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
