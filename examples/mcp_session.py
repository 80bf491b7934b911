"""A client session with `tokcap mcp`: start the server, run commands, page, search, and use up the budget.

pip install . 'mcp>=2,<3' && python examples/mcp_session.py
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import sys
import tempfile
from typing import Any

from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.types import CallToolResult, TextContent

# The same command and arguments that the configuration of an agent contains.
SERVER = ["-m", "tokcap", "mcp", "--token-limit", "100", "--total", "480"]


async def main(data_directory: str) -> None:
    server = StdioServerParameters(
        command=sys.executable, args=SERVER, env={**os.environ, "TOKCAP_DATA_DIR": data_directory}
    )
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        tools = await session.list_tools()
        print("tools:", ", ".join(tool.name for tool in tools.tools))

        page = await call(session, "run", argv=["seq", "1", "100"], keep="head")
        output = without_marks(page)
        while following := next_call(page):
            tool, arguments = following
            page = await call(session, tool, **arguments)
            output += without_marks(page)
        print("all pages join to the output:", output == "".join(f"{n}\n" for n in range(1, 101)))

        await call(session, "grep", handle="@last", pattern="^.[05]$", limit=60)
        await call(session, "show", handle="lake000000000")
        await call(session, "budget_status")
        result = await call(session, "run", argv=["sh", "-c", "seq 1 1000; exit 3"])
        while not result.is_error:
            result = await call(session, "run", argv=["seq", "1", "1000"])


async def call(session: ClientSession, tool: str, **arguments: Any) -> CallToolResult:
    """Call a tool and print the first and the last line of its answer."""
    result = await session.call_tool(tool, arguments)
    words = " ".join(f"{name}={value!r}" for name, value in arguments.items())
    print(f"\n{tool} {words}".rstrip())
    first, *others = text_of(result).splitlines()
    print(f"    {first}" + (f" ... {others[-1]}" if others else ""))
    return result


def without_marks(page: CallToolResult) -> str:
    lines = text_of(page).splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(("[TRUNCATED]", "[exit ")))


def text_of(result: CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, TextContent))


def next_call(result: CallToolResult) -> tuple[str, dict[str, str]] | None:
    """Return the call that the text names: `show handle=lake917365018@464`."""
    found = re.search(r"(\w+) (handle=.*?)\]?$", text_of(result), re.MULTILINE)
    if found is None:
        return None
    return found[1], dict(word.split("=", 1) for word in shlex.split(found[2]))


if __name__ == "__main__":
    # Use a temporary data directory, so that the example leaves no files behind.
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(main(directory))
