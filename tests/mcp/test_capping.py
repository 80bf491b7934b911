"""The law of the proxy: whatever a tool returns, its text recounts to at most the limit."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tests.support import fake_mcp_server as fake
from tests.support.mcp_client import Answer
from tests.support.reference import recount
from tests.support.tiers import examples
from tokcap.mcp.capping import Capper
from tokcap.mcp.settings import ServerSettings

TEXTS = (
    st.text(max_size=200)
    | st.integers(0, 150).map(fake.lines)
    | st.integers(0, 60).map(lambda count: json.dumps(fake.document(count)))
    | st.integers(0, 500).map(lambda count: "x" * count)
)
BLOCKS = st.lists(TEXTS.map(fake.text) | st.sampled_from([fake.IMAGE, fake.RESOURCE, {}, 5]), max_size=6)
STRUCTURED = st.none() | st.integers(0, 60).map(lambda count: {"rows": fake.document(count)})


def capper(limit: int, **changes: object) -> Capper:
    return Capper(
        ServerSettings(limit, "cl100k_base", clean=False, redact=False, max_bytes=1 << 20).replace(**changes)
    )


@examples(50)
@given(
    content=BLOCKS, structured=STRUCTURED, limit=st.integers(1, 400), keep=st.sampled_from(["auto", "head"])
)
def test_text_and_structured_content_recount_to_at_most_the_limit(
    content, structured, limit, keep, with_store
):
    result = {"content": content, "isError": True, "_meta": {"a": 1}}
    if structured is not None:
        result["structuredContent"] = structured
    capped = capper(limit, keep=keep).result(result)
    shown = result if capped is None else capped
    others = [block for block in content if not (isinstance(block, dict) and block.get("type") == "text")]
    assert [block for block in shown["content"] if block in others] == others
    assert (shown["isError"], shown["_meta"]) == (True, {"a": 1})
    texts = [block for block in shown["content"] if isinstance(block, dict) and block.get("type") == "text"]
    assert Answer(texts, None, is_error=False).tokens <= limit
    if "structuredContent" in shown:
        written = json.dumps(structured, ensure_ascii=False, separators=(",", ":"))
        assert recount(written.encode()) <= limit
