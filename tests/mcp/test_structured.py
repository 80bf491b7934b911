"""`tokcap mcp --structured`: a client that shows nothing else sees everything, within the limit."""

from __future__ import annotations

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.mcp_client import CLIENTS
from tests.support.reference import recount
from tests.support.tiers import examples

LIMIT = 200


@pytest.fixture(scope="module", params=CLIENTS)
def agent(request, tmp_path_factory):
    with request.param(tmp_path_factory.mktemp("data"), "-n", str(LIMIT), "--structured") as agent:
        yield agent


def test_structured_content_has_output_status_handle_and_next_call(agent):
    answer = agent.call("run", shell="seq 1 1000; echo oops >&2; exit 3")
    seen = answer.structured
    assert seen["text"].startswith("1\n2\n3\n")
    assert seen["text"].endswith("stderr:\noops\n")
    assert (seen["exit_code"], seen["truncated"]) == (3, True)
    following = agent.call("show", **seen["next"])
    assert following.structured["text"].startswith(f"{seen['next']['offset'] // 2 + 1}\n")
    assert agent.call("show", handle=seen["handle"], stream="err").structured["text"] == "oops\n"


def test_the_text_is_the_same_object_as_json(agent):
    for arguments in ({"shell": "seq 1 1000"}, {"shell": "kill -9 $$"}, {"argv": ["true"]}):
        answer = agent.call("run", **arguments)
        assert json.loads(answer.text) == answer.structured
        jsonschema.validate(answer.structured, agent.tools()["run"]["outputSchema"])
    assert "SIGKILL" in agent.call("run", shell="kill -9 $$").structured["ending"]


def test_an_error_has_its_code_in_both(agent):
    answer = agent.call("show", handle="0000")
    assert answer.is_error
    assert answer.text == answer.structured["text"]
    assert answer.code == "NOT_FOUND"
    assert "no session" in agent.call("budget_status").structured["text"]


@examples(20)
@given(
    out=st.text(max_size=500) | st.text('\x01\x02\n"\\', max_size=500),
    err=st.text(max_size=200),
    status=st.integers(0, 255),
    limit=st.integers(1, 2 * LIMIT),
)
def test_neither_text_nor_structured_content_recounts_above_the_limit(agent, out, err, status, limit):
    script = 'cat; printf "%s" "$1" >&2; exit "$2"'
    argv = ["sh", "-c", script, "sh", err.replace("\0", ""), str(status)]
    answer = agent.call("run", argv=argv, stdin=out, limit=limit)
    assert not answer.is_error, answer.texts
    assert answer.tokens <= min(limit, LIMIT)
    written = json.dumps(answer.structured, ensure_ascii=False, separators=(",", ":"))
    assert recount(written.encode()) <= min(limit, LIMIT)
    if limit >= 20:
        assert answer.structured["exit_code"] == status
