"""A client session with `tokcap mcp`: start the server, run, read on, search, and spend the budget.

pip install 'tokcap[mcp]' && python examples/mcp_session.py
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from typing import Any

from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.types import CallToolResult, TextContent

# An agent's configuration names the same: a command and its arguments.
SERVER = ["-m", "tokcap", "mcp", "--token-limit", "100", "--total", "450"]


async def main(data_directory: str) -> None:
    server = StdioServerParameters(
        command=sys.executable, args=SERVER, env={**os.environ, "TOKCAP_DATA_DIR": data_directory}
    )
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        tools = await session.list_tools()
        print("tools:", ", ".join(tool.name for tool in tools.tools))

        page = await call(session, "run", argv=["seq", "1", "100"], sentinel="")
        output = text_of(page)
        while "next_offset" in facts_of(page):
            facts = facts_of(page)
            page = await call(
                session, "show", handle=facts["handle"], offset=facts["next_offset"], sentinel=""
            )
            output += text_of(page)
        print("all pages join to the output:", output == "".join(f"{n}\n" for n in range(1, 101)))

        await call(session, "grep", handle="@last", pattern="^.[05]$", limit=60)
        await call(session, "show", handle="0000")
        await call(session, "budget_status")
        answer = await call(session, "run", argv=["sh", "-c", "seq 1 1000; exit 3"])
        while not answer.is_error:
            answer = await call(session, "run", argv=["seq", "1", "1000"])


async def call(session: ClientSession, tool: str, **arguments: Any) -> CallToolResult:
    """Call a tool, and tell of it in a line or two."""
    answer = await session.call_tool(tool, arguments)
    words = " ".join(f"{name}={value!r}" for name, value in arguments.items())
    print(f"\n{tool} {words}".rstrip())
    facts = {name: value for name, value in facts_of(answer).items() if name in TOLD}
    print("    " + " ".join(f"{name}={value}" for name, value in facts.items()))
    first, *others = text_of(answer).splitlines()
    print(f"    {first}" + (f" ... {others[-1]}" if others else ""))
    return answer


TOLD = ("returned_tokens", "total_tokens", "next_offset", "exit_code", "budget_remaining", "remaining")


def text_of(answer: CallToolResult) -> str:
    return "".join(block.text for block in answer.content if isinstance(block, TextContent))


def facts_of(answer: CallToolResult) -> dict[str, Any]:
    """What is known of the answer: a client decides by this, and need not read the text."""
    facts: dict[str, Any] = answer.structured_content or {}
    return facts


if __name__ == "__main__":
    # A store and an account of its own, so that nothing is left behind.
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(main(directory))
