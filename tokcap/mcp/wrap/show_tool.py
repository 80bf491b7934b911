"""The tool that the proxy adds to those of the server: it reads what was cut off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokcap.environment import ToolNames
from tokcap.mcp.tool_table import FIELDS, LIMIT, OFFSET, SENTINEL, UNLISTED, Argument, Tool, choice

if TYPE_CHECKING:
    from tokcap.mcp.cancellation import Cancellation
    from tokcap.mcp.server_settings import ServerSettings
    from tokcap.mcp.stored_tools import StoredTools

NAME = "tokcap_show"
# The search is an argument of the same tool.
NAMES = ToolNames(NAME, NAME)
SHOW_TOOL = Tool(
    NAME,
    "Read the rest of a result that was cut: a window at an offset, lines that match a pattern, or the value"
    " at a JSON pointer.",
    (
        Argument("handle", help="from the mark at the cut", required=True),
        OFFSET,
        Argument("pattern", help="Python regex"),
        Argument("pointer", help="/items/3"),
        LIMIT,
        Argument("context", "integer", is_listed=False),
        choice("keep").but(is_listed=False),
        FIELDS.but(is_listed=False),
        *UNLISTED,
        SENTINEL,
    ),
)


def call_show_tool(
    tools: StoredTools, given: dict[str, Any], cancellation: Cancellation
) -> dict[str, Any] | None:
    """Return the result of a call; None if the call was cancelled."""

    def work() -> dict[str, Any]:
        from tokcap.mcp.arguments import checked

        values = checked(SHOW_TOOL, given)
        if "pattern" not in values:
            return tools.show(values, cancellation)
        # A search shows lines, so what selects values does not apply.
        searched = {name: value for name, value in values.items() if name not in ("pointer", "keep", "focus")}
        return tools.grep(searched, cancellation)

    return tools.answer(work, cancellation)


def open_tools(settings: ServerSettings) -> StoredTools:
    from tokcap.mcp.stored_tools import StoredTools

    return StoredTools(settings, NAMES)
