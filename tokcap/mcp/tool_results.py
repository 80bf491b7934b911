"""Build the results of tools. The text has everything: output, exit status, handle and the next call.

Many clients show their model either the text or the structured content, never both. So there is no structured
content unless the user asks for it; `structured` makes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokcap.api.calls import cap, count
from tokcap.lean.record import Record
from tokcap.mcp.tool_words import call_words, tool_arguments
from tokcap.store.handles import at_offset

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.api.results import Capped, Result
    from tokcap.budget.arithmetic import Account
    from tokcap.errors import TokcapError
    from tokcap.mcp.server_settings import ServerSettings

# Shown if there is no text at all, because a model may mistake an empty result for an error.
NOTHING_TO_SHOW = "(nothing to show)"
STDERR_LABEL = "stderr:\n"

# Tokens that the output leaves free: for the label of stderr and how the command ended, and for the next call
# if the output has no mark that names it. Under a smaller limit they are added only if they fit.
STATUS_TOKENS = 20
SHORT_STATUS_TOKENS = 6
CALL_TOKENS = 30
ROOMY_LIMIT_TOKENS = 60
LEAST_LIMIT_TOKENS = 20


class Shown(Record):
    """What the library has returned, whichever function it was."""

    out: str
    err: str = ""
    # Warnings, and the way to the rest of a structured cut. They are inside the limit.
    words: str = ""
    # How the command ended; None if no command ran.
    exit_code: int | None = None
    # What is to be said about the end beyond its number: a signal, a timeout.
    ending: str = ""
    truncated: bool = False
    handle: str | None = None
    # The arguments of the tool that shows the next window.
    next_call: dict[str, Any] | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.out, self.err, self.words)))


def shown_by_run(result: Result) -> Shown:
    failure = result.error
    return Shown(
        result.stdout,
        result.stderr,
        result.words.decode("utf-8", "replace"),
        result.status,
        failure.message if failure and failure.code != "COMMAND_FAILED" else "",
        result.truncated,
        result.handle,
        tool_arguments(result.next_call),
    )


def shown_by_show(page: Capped[str]) -> Shown:
    words = page.words.decode("utf-8", "replace")
    following = tool_arguments(page.next_call)
    return Shown(page.text, "", words, truncated=page.truncated, handle=page.handle, next_call=following)


def room_tokens(limit_tokens: int, *, sentinel: str | None, runs: bool) -> int:
    """Return how many tokens of a limit the output must leave free."""
    if limit_tokens < ROOMY_LIMIT_TOKENS:
        return SHORT_STATUS_TOKENS if runs and limit_tokens >= LEAST_LIMIT_TOKENS else 0
    room = STATUS_TOKENS if runs else 0
    if sentinel == "" and limit_tokens >= ROOMY_LIMIT_TOKENS + CALL_TOKENS:
        room += CALL_TOKENS
    return room


def text_result(shown: Shown, limit_tokens: int, settings: ServerSettings) -> dict[str, Any]:
    """Return the largest result within the limit, proven by a count. The session pays for what is added."""
    for blocks in arrangements(shown):
        cost = cost_of(blocks, settings.tokenizer)
        if cost <= limit_tokens:
            break
    else:
        blocks = [cap("".join(shown.texts), limit_tokens, tokenizer=settings.tokenizer).text]
        cost = cost_of(blocks, settings.tokenizer)
    if settings.session:
        settings.session.pay_more(cost - cost_of(shown.texts, settings.tokenizer))
    return tool_result(blocks)


def arrangements(shown: Shown) -> Iterator[list[str]]:
    """Yield the blocks of a result, the best first: with everything, then with less of what is added."""
    for footer in footers(shown):
        for label in (STDERR_LABEL, "") if shown.err else ("",):
            err = label + shown.err
            lines = shown.words + footer
            blocks: list[str] = []
            for block in filter(None, (shown.out, err, lines)):
                # Some clients join the blocks without anything between them.
                is_apart = not blocks or blocks[-1].endswith("\n") or block.startswith("\n")
                blocks.append(block if is_apart or not (label or footer) else f"\n{block}")
            yield blocks


def footers(shown: Shown) -> Iterator[str]:
    """Yield the last line, the longest first: how the command ended, and the next call if no mark has it."""
    said = "".join(shown.texts)
    parts = []
    following = shown.next_call
    short = following and f"handle={at_offset(following['handle'], following['offset'])}"
    if following and short and short not in said:
        parts += ["next: " + call_words(following), short]
    elif shown.handle and shown.truncated and shown.handle not in said:
        parts.append(f"handle={shown.handle}")
    if shown.exit_code is None:
        yield from (f"[{part}]\n" for part in parts)
        yield "" if said else NOTHING_TO_SHOW
        yield ""
        return
    status = f"exit {shown.exit_code}"
    empty = "" if shown.out or shown.err else "; no output"
    if shown.ending:
        yield from (f"[{status}: {shown.ending}; {part}]\n" for part in parts)
        yield f"[{status}: {shown.ending}]\n"
    yield from (f"[{status}; {part}]\n" for part in parts)
    if empty and not parts:
        yield f"[{status}{empty}]\n"
    yield f"[{status}]\n"
    yield status
    yield ""


def cost_of(blocks: Sequence[str], tokenizer: str) -> int:
    """Return the most tokens that a reader can count: in each block, or in all of them joined."""
    apart = sum(count(block, tokenizer) for block in blocks)
    return max(apart, count("".join(blocks), tokenizer)) if len(blocks) > 1 else apart


def error_result(error: TokcapError, settings: ServerSettings) -> dict[str, Any]:
    """Return an error. The text begins with its stable code."""
    # The message may quote an argument with a lone surrogate, which cannot be sent as UTF-8.
    message = str(error).encode("utf-8", "replace").decode()
    shown = cap(f"{error.code}: {message}", settings.limit_tokens, tokenizer=settings.tokenizer)
    if settings.session:
        settings.session.charge_error(error, shown.returned_tokens)
    return tool_result([shown.text], is_error=True)


def status_result(account: Account | None, settings: ServerSettings) -> dict[str, Any]:
    """Return the budget of the session as one line."""
    text = f"at most {settings.limit_tokens} tokens per result"
    if account is None or settings.session is None:
        text = f"no session; {text}"
    else:
        left = "no limit" if account.remaining is None else f"{account.remaining} of {account.total} left"
        reserved = f", {account.reserved} reserved" if account.reserved else ""
        text = f"session {settings.session.name}: {account.used} tokens used{reserved}, {left}; {text}"
        if account.mode() != "raw":
            text += f"; results are shown as {account.mode()}"
    return tool_result([cap(text, settings.limit_tokens, tokenizer=settings.tokenizer).text])


def tool_result(blocks: Sequence[str], *, is_error: bool = False) -> dict[str, Any]:
    result: dict[str, Any] = {"content": [{"type": "text", "text": text} for text in blocks]}
    return {**result, "isError": True} if is_error else result
