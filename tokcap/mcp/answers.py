"""What a tool gives back: text for the model, capped, and what is known of it as structured content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from tokcap.api.calls import cap, count
from tokcap.errors import TokcapError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokcap.api.results import Answered, Capped, Result
    from tokcap.budget.arithmetic import Account
    from tokcap.mcp.terms import Terms

Block = Literal["out", "err", "status"]

# Said where there is no text at all: a model cannot tell nothing from a mistake.
NOTHING = "(nothing to show)"


class Told(BaseModel):
    """An error or a warning."""

    code: str = Field(description="stable: COMMAND_FAILED, BUDGET_EXHAUSTED, NOT_FOUND, ...")
    message: str


class Facts(BaseModel):
    """What is known of an answer, by the names of tokcap's JSON; what does not apply is left out."""

    truncated: bool = Field(description="whether there is more than is shown")
    returned_tokens: int = Field(description="tokens of all text blocks")
    total_tokens: int | None = Field(default=None, description="tokens of all there is")
    total_tokens_estimate: int | None = Field(default=None, description="the same, where it was not counted")
    next_offset: int | None = Field(
        default=None, description="go on from here: show(handle, offset=next_offset)"
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
    blocks: list[Block] = Field(description="what each text block is: stdout, stderr, a word on the status")
    error: Told | None = None
    warnings: list[Told] | None = None


class Status(BaseModel):
    """How the session of the server stands; without one there is only the limit of an answer."""

    token_limit: int = Field(description="no answer of this server has more")
    session: str | None = None
    used: int | None = None
    reserved: int | None = None
    remaining: int | None = None
    total: int | None = None
    usage_fraction: float | None = None
    mode: str | None = Field(default=None, description="how answers come: raw, table, summary, handle_only")
    context_window: int | None = None
    window_used: int | None = None


def of_run(result: Result, limit: int, terms: Terms) -> CallToolResult:
    """The streams of a command, each in a block of its own, and how it ended."""
    failure = result.error
    return composed(
        result,
        {"out": result.stdout, "err": result.stderr},
        limit,
        terms,
        words=failure.message if failure else "",
        exit_code=result.status,
        error=Told(code=failure.code, message=failure.message) if failure else None,
    )


def of_show(shown: Capped[str], limit: int, terms: Terms) -> CallToolResult:
    """A part of a stored output."""
    return composed(shown, {"out": shown.text}, limit, terms)


def composed(
    found: Answered, texts: Mapping[Block, str], limit: int, terms: Terms, *, words: str = "", **more: object
) -> CallToolResult:
    """The answer. `words` are for models that are shown the text alone, as far as the limit has room."""
    blocks = {name: text for name, text in texts.items() if text}
    tokens = sum(count(text, terms.tokenizer) for text in blocks.values())
    if words or not blocks:
        words = words or NOTHING
        cost = count(words, terms.tokenizer)
        if tokens + cost <= limit and (terms.session is None or terms.session.pay(cost)):
            blocks["status"] = words
            tokens += cost
    known = {name: value for name, value in found.meta.as_json().items() if name in Facts.model_fields}
    facts = {
        **known,
        "truncated": found.truncated,
        "returned_tokens": tokens,
        "total_tokens": found.total_tokens,
        "blocks": list(blocks),
        "warnings": [Told(code=told.code, message=told.message) for told in found.warnings] or None,
        **budget_facts(terms),
        **more,
    }
    return result_of(blocks, Facts.model_validate(facts))


def budget_facts(terms: Terms) -> dict[str, object]:
    """What the session has left once this answer is paid for."""
    if terms.session is None:
        return {}
    try:
        left = terms.session.read().remaining
    except TokcapError:
        # The answer stands; how the account stands can be asked again.
        left = None
    return {"session": terms.session.name, "budget_remaining": left}


def of_error(error: TokcapError, terms: Terms) -> CallToolResult:
    """A refusal: its stable code first, for models that are shown the text alone."""
    # Arguments may hold half characters, which cannot be sent.
    message = str(error).encode("utf-8", "replace").decode()
    shown = cap(f"{error.code}: {message}", terms.limit_tokens, tokenizer=terms.tokenizer)
    facts = Facts(
        truncated=shown.truncated,
        returned_tokens=shown.returned_tokens,
        blocks=["status"],
        error=Told(code=error.code, message=shown.text.partition(": ")[2]),
    )
    return result_of({"status": shown.text}, facts, is_error=True)


def of_account(account: Account | None, terms: Terms) -> CallToolResult:
    """How the session stands, in one line and in numbers."""
    status = Status(token_limit=terms.limit_tokens)
    words = f"at most {terms.limit_tokens} tokens an answer"
    if account is None:
        words = f"no session; {words}"
    else:
        status = Status(
            token_limit=terms.limit_tokens,
            session=terms.session_name,
            used=account.used,
            reserved=account.reserved,
            remaining=account.remaining,
            total=account.total,
            usage_fraction=account.usage_fraction,
            mode=str(account.mode()),
            context_window=account.settings.context_window,
            window_used=account.window_used,
        )
        left = "no limit" if account.remaining is None else f"{account.remaining} left of {account.total}"
        words = f"{account.used} tokens used, {left}; {words}"
    text = cap(words, terms.limit_tokens, tokenizer=terms.tokenizer).text
    return result_of({"status": text}, status)


def result_of(blocks: Mapping[Block, str], known: BaseModel, *, is_error: bool = False) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=text) for text in blocks.values()],
        structured_content=known.model_dump(mode="json", exclude_none=True),
        is_error=is_error,
    )
