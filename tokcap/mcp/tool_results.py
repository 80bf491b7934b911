"""Build the results of tools: capped text for the model, and the facts about it as structured content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from tokcap.api.calls import cap, count
from tokcap.errors import TokcapError
from tokcap.mcp.tool_words import tool_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokcap.api.results import Capped, Result
    from tokcap.budget.arithmetic import Account
    from tokcap.mcp.server_settings import ServerSettings

Block = Literal["out", "err", "next", "status"]

# Shown if there is no text at all, because a model may mistake an empty result for an error.
NOTHING_TO_SHOW = "(nothing to show)"


class Message(BaseModel):
    """An error or a warning."""

    code: str = Field(description="stable: COMMAND_FAILED, BUDGET_EXHAUSTED, NOT_FOUND, ...")
    message: str


class Facts(BaseModel):
    """The facts about a result, named as in tokcap's JSON output. Facts that do not apply are left out."""

    truncated: bool = Field(description="whether there is more output than is shown")
    returned_tokens: int = Field(description="tokens of all text blocks")
    total_tokens: int | None = Field(default=None, description="tokens of the whole output")
    total_tokens_estimate: int | None = Field(
        default=None, description="an estimate, if they were not counted"
    )
    next_offset: int | None = Field(
        default=None, description="continue here: show(handle, offset=next_offset)"
    )
    continue_: dict[str, int | str | bool] | None = Field(
        default=None,
        alias="continue",
        description="arguments of the next call of show, or of grep if there is a pattern",
    )
    handle: str | None = Field(default=None, description="the stored output, for show and grep")
    exit_code: int | None = None
    signal: int | None = None
    shape: str | None = None
    mode: str | None = None
    first_pointer: str | None = None
    next_pointer: str | None = None
    spill_truncated: bool | None = None
    binary: bool | None = None
    duration_ms: int | None = None
    session: str | None = None
    budget_remaining: int | None = None
    blocks: list[Block] = Field(
        description="what each text block is: stdout, stderr, how to go on, or a status message"
    )
    error: Message | None = None
    warnings: list[Message] | None = None


class Status(BaseModel):
    """The budget of the server's session. Without a session there is only the limit of a result."""

    token_limit: int = Field(description="the maximum for one result of this server")
    session: str | None = None
    used: int | None = None
    reserved: int | None = None
    remaining: int | None = None
    total: int | None = None
    usage_fraction: float | None = None
    mode: str | None = Field(
        default=None, description="how results are shown: raw, table, summary, handle_only"
    )
    context_window: int | None = None
    window_used: int | None = None


def result_of_run(result: Result, limit_tokens: int, settings: ServerSettings) -> CallToolResult:
    """Return the streams of a command, one block each, and how the command ended."""
    failure = result.error
    return compose(
        result,
        {"out": result.stdout, "err": result.stderr},
        limit_tokens,
        settings,
        message=failure.message if failure else "",
        exit_code=result.status,
        error=Message(code=failure.code, message=failure.message) if failure else None,
    )


def result_of_show(shown: Capped[str], limit_tokens: int, settings: ServerSettings) -> CallToolResult:
    """Return a part of a stored output."""
    return compose(shown, {"out": shown.text}, limit_tokens, settings)


def compose(
    found: Result | Capped[str],
    texts: Mapping[Block, str],
    limit_tokens: int,
    settings: ServerSettings,
    *,
    message: str = "",
    **more: object,
) -> CallToolResult:
    """Return texts and facts. `message` is for models that see only text; it is added if it fits."""
    blocks = {name: text for name, text in texts.items() if text}
    # Warnings, and the way to the rest of a structured cut. They are inside the limit, and paid for.
    if words := found.words.decode("utf-8", "replace"):
        blocks["next"] = words
    tokens = sum(count(text, settings.tokenizer) for text in blocks.values())
    if message or not blocks:
        message = message or NOTHING_TO_SHOW
        cost = count(message, settings.tokenizer)
        if tokens + cost <= limit_tokens and (settings.session is None or settings.session.pay(cost)):
            blocks["status"] = message
            tokens += cost
    known = {name: value for name, value in found.meta.as_json().items() if name in Facts.model_fields}
    facts = {
        **known,
        "truncated": found.truncated,
        "continue": tool_arguments(found.next_call, limit_tokens),
        "returned_tokens": tokens,
        "total_tokens": found.total_tokens,
        "blocks": list(blocks),
        "warnings": [Message(code=notice.code, message=notice.message) for notice in found.warnings] or None,
        **budget_facts(settings),
        **more,
    }
    return tool_result(blocks, Facts.model_validate(facts))


def budget_facts(settings: ServerSettings) -> dict[str, object]:
    """Return what is left in the session after this result was charged."""
    if settings.session is None:
        return {}
    try:
        left = settings.session.read().remaining
    except TokcapError:
        # The result is more important. The agent can ask for the budget later.
        left = None
    return {"session": settings.session.name, "budget_remaining": left}


def result_of_error(error: TokcapError, settings: ServerSettings) -> CallToolResult:
    """Return an error. The text begins with the stable code, for models that see only text."""
    # The message may quote an argument with a lone surrogate, which cannot be sent as UTF-8.
    message = str(error).encode("utf-8", "replace").decode()
    shown = cap(f"{error.code}: {message}", settings.limit_tokens, tokenizer=settings.tokenizer)
    if settings.session:
        settings.session.charge_error(error, shown.returned_tokens)
    facts = Facts(
        truncated=shown.truncated,
        returned_tokens=shown.returned_tokens,
        blocks=["status"],
        error=Message(code=error.code, message=shown.text.partition(": ")[2]),
    )
    return tool_result({"status": shown.text}, facts, is_error=True)


def result_of_status(account: Account | None, settings: ServerSettings) -> CallToolResult:
    """Return the budget of the session, as one line of text and as numbers."""
    status = Status(token_limit=settings.limit_tokens)
    text = f"at most {settings.limit_tokens} tokens per result"
    if account is None or settings.session is None:
        text = f"no session; {text}"
    else:
        status = Status(
            token_limit=settings.limit_tokens,
            session=settings.session.name,
            used=account.used,
            reserved=account.reserved,
            remaining=account.remaining,
            total=account.total,
            usage_fraction=account.usage_fraction,
            mode=str(account.mode()),
            context_window=account.settings.context_window,
            window_used=account.window_used,
        )
        left = "no limit" if account.remaining is None else f"{account.remaining} of {account.total} left"
        text = f"{account.used} tokens used, {left}; {text}"
    text = cap(text, settings.limit_tokens, tokenizer=settings.tokenizer).text
    return tool_result({"status": text}, status)


def tool_result(blocks: Mapping[Block, str], known: BaseModel, *, is_error: bool = False) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=text) for text in blocks.values()],
        structured_content=known.model_dump(mode="json", exclude_none=True, by_alias=True),
        is_error=is_error,
    )
