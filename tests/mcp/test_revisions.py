"""Every published revision of the protocol is spoken, by `tokcap mcp` and by `tokcap mcp wrap`."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from tests.support.mcp_client import ENVELOPE, HELLO, SERVER, VERSION_KEY, Answer, Wire, variables
from tests.support.tiers import as_nightly

FAKE = (sys.executable, "-m", "tests.support.fake_mcp_server")
WRAPPED = ("wrap", "-n", "60", "--", *FAKE)
HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = ("2026-07-28",)


@pytest.mark.parametrize("version", HANDSHAKE)
@pytest.mark.parametrize("arguments", [("-n", "60"), WRAPPED])
def test_the_revision_that_a_handshake_asks_for_is_spoken(tmp_path, arguments, version):
    with Wire(tmp_path, *arguments, hello={**HELLO, "protocolVersion": version}) as wire:
        assert wire.hello["protocolVersion"] == version
        answer = wire.request(
            "tools/call", {"name": "no-such-tool"} if arguments != WRAPPED else {"name": "text"}
        )
        assert "resultType" not in answer["result"]


def test_a_modern_client_needs_no_handshake_and_every_result_has_a_type(tmp_path):
    with Wire(tmp_path, "-n", "60", hello=None) as wire:
        found = wire.request("server/discover", {"_meta": ENVELOPE})["result"]
        assert found["supportedVersions"] == [*HANDSHAKE, *MODERN]
        listed = wire.request("tools/list", {"_meta": ENVELOPE})["result"]
        for result in (found, listed):
            assert (result["resultType"], result["cacheScope"]) == ("complete", "public")
            assert result["ttlMs"] > 0
        for call in ({"name": "run", "arguments": {"shell": "seq 1000"}}, {"name": "show"}, {"name": "none"}):
            result = wire.request("tools/call", {**call, "_meta": ENVELOPE})["result"]
            assert result["resultType"] == "complete"
            assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "tokcap"
            assert Answer.of_result(result).tokens <= 60


@pytest.mark.parametrize(
    ("meta", "code"),
    [
        ({**ENVELOPE, VERSION_KEY: "2099-01-01"}, -32022),
        ({**ENVELOPE, VERSION_KEY: 5}, -32602),
        ({VERSION_KEY: MODERN[-1]}, -32602),
    ],
)
def test_an_unknown_revision_is_refused_with_those_that_are_known(tmp_path, meta, code):
    with Wire(tmp_path, hello=None) as wire:
        for method in ("server/discover", "tools/call", "tools/list"):
            error = wire.request(method, {"name": "run", "_meta": meta})["error"]
            assert error["code"] == code
            if code == -32022:
                assert error["data"] == {"supported": [*HANDSHAKE, *MODERN], "requested": "2099-01-01"}


def test_the_answers_of_the_proxy_have_a_type_if_the_request_is_modern(tmp_path):
    with Wire(tmp_path, "wrap", "-n", "60", "--total", "100", "--", *FAKE, hello=None) as wire:
        for name in ("tokcap_show", "deep", "text", "text"):
            result = wire.request("tools/call", {"name": name, "arguments": {}, "_meta": ENVELOPE})["result"]
            if name != "text":
                assert result["resultType"] == "complete"
        assert Answer.of_result(result).code == "BUDGET_EXHAUSTED"
        assert result["resultType"] == "complete"


SERVER_OF_THE_PACKAGE = """
from mcp.server import MCPServer
server = MCPServer("real")
@server.tool(structured_output=False)
def text(count: int = 3000) -> str:
    return "".join(f"line {number}\\n" for number in range(count))
server.run("stdio")
"""


def known_revisions() -> list:
    """The revisions of the installed package, each with the mode of its client."""
    version = pytest.importorskip("mcp_types.version", reason="the package mcp is not installed")
    assert (*version.HANDSHAKE_PROTOCOL_VERSIONS, *version.MODERN_PROTOCOL_VERSIONS) == (*HANDSHAKE, *MODERN)
    return [
        *(("legacy", each) for each in HANDSHAKE),
        *((each, each) for each in MODERN),
        ("auto", MODERN[-1]),
    ]


@pytest.mark.parametrize("number", [as_nightly(number) for number in range(6)])
@pytest.mark.parametrize("is_wrapped", [False, True])
def test_the_official_client_speaks_every_revision(tmp_path, monkeypatch, number, is_wrapped):
    mode, version = known_revisions()[number]
    import mcp
    from mcp.client import session

    if mode == "legacy":
        monkeypatch.setattr(session, "LATEST_HANDSHAKE_VERSION", version)
    wrapped = ("wrap", "-n", "60", "--", sys.executable, "-c", SERVER_OF_THE_PACKAGE)
    words = [*SERVER, *(wrapped if is_wrapped else ("-n", "60"))]
    server = mcp.StdioServerParameters(
        command=sys.executable, args=words, env={**os.environ, **variables(tmp_path)}
    )

    async def converse() -> None:
        async with mcp.Client(server, mode=mode) as client:
            assert client.protocol_version == version
            names = [tool.name for tool in (await client.list_tools()).tools]
            name, show = ("text", "tokcap_show") if is_wrapped else ("run", "show")
            assert {name, show} <= {*names}
            arguments = {} if is_wrapped else {"shell": "seq 1 1000"}
            calls = ((name, arguments), (show, {"handle": "@last", "offset": 100}), (show, {}))
            for tool, given in calls:
                result = await client.call_tool(tool, given)
                answer = Answer.of_result(result.model_dump(mode="json", by_alias=True, exclude_none=True))
                assert 0 < answer.tokens <= 60
                assert answer.is_error == (not given and tool == show)

    asyncio.run(converse())
