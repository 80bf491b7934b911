"""`--structured`: the result as an object, for clients that show their model only that.

The object has the output too, and its JSON is the only text block. So both kinds of client show the same, and
the limit covers it as it is written, escapes included.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tokcap.api.calls import cap, count
from tokcap.mcp.tool_results import STDERR_LABEL, cost_of, tool_result

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcap.mcp.server_settings import ServerSettings
    from tokcap.mcp.tool_results import Shown

# Tokens of all members but the text, in most cases.
MEMBERS_TOKENS = 60
# Each attempt gets closer, so few are needed.
MOST_ATTEMPTS = 8


def structured_result(
    first: Shown, limit_tokens: int, settings: ServerSettings, again: Callable[[int], Shown]
) -> dict[str, Any]:
    """Return the object within the limit. `again` gives the same with fewer tokens, and charges nothing."""
    shown, allowed = first, limit_tokens
    for _ in range(MOST_ATTEMPTS):
        members = members_of(shown)
        cost = count(as_json(members), settings.tokenizer)
        if cost <= limit_tokens or allowed <= 1:
            break
        allowed = max(min(allowed, cost_of(shown.texts, settings.tokenizer)) * limit_tokens // cost - 2, 1)
        shown = again(allowed)
    # What is least needed goes first. Under a limit of a few tokens nothing is left.
    for name in ("ending", "next", "truncated", "text", "handle", "exit_code"):
        if count(as_json(members), settings.tokenizer) <= limit_tokens:
            break
        members.pop(name, None)
    text = as_json(members)
    if settings.session:
        charged = cost_of(first.texts, settings.tokenizer)
        settings.session.pay_more(count(text, settings.tokenizer) - charged)
    return {**tool_result([text]), "structuredContent": members}


def members_of(shown: Shown) -> dict[str, Any]:
    parts = (shown.out, STDERR_LABEL + shown.err if shown.err else "", shown.words)
    text = ""
    for part in filter(None, parts):
        is_apart = not text or text.endswith("\n") or part.startswith("\n")
        text += part if is_apart else f"\n{part}"
    members = {
        "exit_code": shown.exit_code,
        "ending": shown.ending or None,
        "truncated": shown.truncated or None,
        "handle": shown.handle,
        "next": shown.next_call,
        "text": text,
    }
    return {name: value for name, value in members.items() if value is not None}


def structured_text(result: dict[str, Any], settings: ServerSettings) -> dict[str, Any]:
    """Return a result that is only a message, such as an error, with structured content too."""
    members = {"text": result["content"][0]["text"]}
    if count(as_json(members), settings.tokenizer) > settings.limit_tokens:
        half = max(settings.limit_tokens // 2, 1)
        members = {"text": cap(members["text"], half, tokenizer=settings.tokenizer).text}
    if count(as_json(members), settings.tokenizer) > settings.limit_tokens:
        members = {}
    return {**result, "structuredContent": members}


def as_json(members: dict[str, Any]) -> str:
    return json.dumps(members, ensure_ascii=False, separators=(",", ":"))
