"""One rule for the limit: it covers the whole response in every form, with or without a session."""

import json
import random
import re

import pytest

from tests.support.reference import recount
from tests.support.tiers import some_everyday

SEQ = b"".join(b"%d\n" % n for n in range(1, 3001))
RECORDS = json.dumps([{"id": n, "name": f'item "{n}"\n', "path": "a\\b" * 5} for n in range(200)]).encode()
INPUTS = {
    "lines": SEQ,
    "records": RECORDS,
    "control characters": b"\x1b[31m\x00\x01\x02" * 500,
    "characters": "漢字 🧑🏽‍🚀\t".encode() * 300,
    "table": b"a,b\n" + b"1,2\n" * 500,
    "nothing": b"",
}
FORMS = ("json", "jsonl")
LOUD = "seq 1 1000; seq 1 1000 >&2; exit 1"


def cost(ran):
    """What a reader of both streams pays, in every order."""
    return max(recount(ran.out + ran.err), recount(ran.err + ran.out), recount(ran.out) + recount(ran.err))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", INPUTS)
def test_the_limit_covers_the_whole_envelope(inside, with_store, form, name):
    chosen = random.Random(name)
    for limit in (130, 150, *(chosen.randrange(160, 1500) for _ in range(4))):
        for how in ((), ("--keep", "ends"), ("--keep", "focus"), ("--mode", "summary")):
            ran = inside("-n", str(limit), "-o", form, *how, stdin=INPUTS[name])
            assert ran.status == 0
            assert cost(ran) <= limit


@pytest.mark.parametrize("form", ["text", *FORMS])
@pytest.mark.parametrize("limit", some_everyday([150, 170, 210, 300, 450, 700, 1200, 5000], 4))
def test_the_limit_covers_errors_and_both_streams_of_a_command(inside, with_store, form, limit):
    ran = inside("-n", str(limit), "-o", form, "-c", LOUD)
    assert ran.status == 1
    assert cost(ran) <= limit
    if form == "json":
        assert ran.json["error"]["code"] == "COMMAND_FAILED"
        assert ran.json["meta"]["truncated"] is (limit < 5000)


@pytest.mark.parametrize("form", FORMS)
def test_a_session_pays_for_what_is_written_and_no_more_than_the_limit(inside, with_store, form):
    inside("budget", "start", "s", "--total", "100000")
    used = 0
    for limit in (150, 260, 800):
        ran = inside("-n", str(limit), "-o", form, "--session", "s", "-c", LOUD)
        assert cost(ran) <= limit
        used += cost(ran)
    assert inside("budget", "status", "s", "-o", "json").json["data"]["used"] == used


@pytest.mark.parametrize("form", FORMS)
def test_a_limit_below_the_smallest_envelope_is_refused_with_the_least_that_works(inside, tmp_path, form):
    proof = tmp_path / "ran"
    ran = inside("-n", "20", "-o", form, "--", "touch", str(proof))
    assert ran.status == 125
    assert not proof.exists()
    least = int(re.search(rb"use --token-limit (\d+) or more", ran.err)[1])
    below = inside("-n", str(least - 1), "-o", form, "-c", LOUD)
    assert b"too small" in below.err
    at_least = inside("-n", str(least), "-o", form, "-c", LOUD)
    assert at_least.status == 1
    assert cost(at_least) <= least


def test_a_refusal_is_not_charged(inside, with_store):
    inside("budget", "start", "s", "--total", "5000")
    assert inside("-n", "20", "-o", "json", "--session", "s", stdin=SEQ).status == 125
    assert inside("--session", "s", "--", "no-such-command").status == 127
    assert inside("budget", "status", "s", "-o", "json").json["data"]["used"] == 0


def test_a_small_envelope_keeps_what_it_must_have(inside, with_store):
    meta = inside("-n", "140", "-o", "json", "-c", LOUD).json["meta"]
    needed = {
        "duration_ms",
        "tokenizer",
        "schema_version",
        "truncated",
        "total_tokens",
        "next_offset",
        "handle",
    }
    assert needed <= {*meta}
    assert {"truncation_hint", "spill_path", "shape"}.isdisjoint(meta)
    assert "truncation_hint" in inside("-n", "900", "-o", "json", stdin=SEQ).json["meta"]


@pytest.mark.parametrize("name", ["lines", "characters"])
def test_pages_of_envelopes_give_back_the_original(inside, with_store, name):
    page, shown = inside("-n", "150", "--sentinel", "", "-o", "json", stdin=INPUTS[name]).json, ""
    while True:
        shown += "".join(page["data"])
        if "continue" not in page["meta"]:
            break
        words = page["meta"]["continue"]
        page = inside(*words, "-n", "1000").json
    assert shown.encode() == INPUTS[name]


def test_an_envelope_of_a_stored_output_fits_though_the_run_had_a_smaller_limit(inside, with_store):
    inside("-n", "20", stdin=SEQ)
    assert inside("show", "@last", "-o", "json").json["data"]
