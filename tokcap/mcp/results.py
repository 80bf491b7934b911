"""Build the results of tools. The text has everything: output, exit status, handle and the next call.

Many clients show their model either the text or structured content, never both. So there is only text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokcap.api.calls import cap, count
from tokcap.mcp.media import media_in
from tokcap.startup.record import Record
from tokcap.store.handles import at_offset
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokcap.api.results import Capped, Result
    from tokcap.budget.arithmetic import Account
    from tokcap.errors import TokcapError
    from tokcap.mcp.settings import ServerSettings

# Shown if there is no text at all, because a model may mistake an empty result for an error.
NOTHING_TO_SHOW = "(nothing to show)"
STDERR_LABEL = "stderr:\n"

# Tokens that the output of a command leaves free for the label of stderr and how the command ended. Under a
# smaller limit these are added only if they fit.
STATUS_TOKENS = 20
SHORT_STATUS_TOKENS = 6
ROOMY_LIMIT_TOKENS = 60
LEAST_LIMIT_TOKENS = 20

# The arguments of the next call that tools have. The others are settings of the server.
NEXT_ARGUMENTS = ("handle", "offset", "stream", "pointer", "grep", "context", "fields", "mode")


class Shown(Record):
    """What the library has returned, whichever function it was."""

    out: str
    err: str = ""
    # Warnings, and the way to the rest of a structured cut. They are inside the limit.
    words: str = ""
    truncated: bool = False
    handle: str | None = None
    # The arguments of the function `show` that give the next window.
    next_call: Mapping[str, Any] | None = None
    # How the command ended; None if no command ran.
    exit_code: int | None = None
    # What is to be said about the end beyond its number: a signal, a timeout.
    ending: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.out, self.err, self.words)))


def shown_by_run(result: Result) -> Shown:
    words = result.words.decode("utf-8", "replace")
    failure = result.error
    ending = failure.message if failure and failure.code != "COMMAND_FAILED" else ""
    about = (result.truncated, result.handle, result.next_call)
    return Shown(result.stdout, result.stderr, words, *about, result.status, ending)


def shown_by_show(page: Capped[str]) -> Shown:
    words = page.words.decode("utf-8", "replace")
    return Shown(page.text, "", words, page.truncated, page.handle, page.next_call)


def room_tokens(limit_tokens: int) -> int:
    """Return how many tokens of a limit the output of a command must leave free for what is added to it."""
    if limit_tokens < LEAST_LIMIT_TOKENS:
        return 0
    return SHORT_STATUS_TOKENS if limit_tokens < ROOMY_LIMIT_TOKENS else STATUS_TOKENS


def text_result(shown: Shown, limit_tokens: int, settings: ServerSettings) -> dict[str, Any]:
    """Return the largest result within the limit, proven by a count."""
    for blocks in arrangements(shown):
        if cost_of(blocks, settings.tokenizer) <= limit_tokens:
            return tool_result(blocks)
    return tool_result([cap("".join(shown.texts), limit_tokens, tokenizer=settings.tokenizer).text])


def arrangements(shown: Shown) -> Iterator[list[str]]:
    """Yield the blocks of a result, the best first: with everything, then with less of what is added."""
    for footer in footers(shown):
        for label in (STDERR_LABEL, "") if shown.err else ("",):
            blocks: list[str] = []
            for block in filter(None, (shown.out, label + shown.err, shown.words + footer)):
                # Some clients join the blocks without anything between them.
                is_apart = not blocks or blocks[-1].endswith("\n") or block.startswith("\n")
                blocks.append(block if is_apart or not (label or footer) else f"\n{block}")
            yield blocks


def footers(shown: Shown) -> Iterator[str]:
    """Yield the last line, the longest first: how the command ended, and the next call if no mark has it."""
    calls = [*next_calls(shown)]
    if shown.exit_code is None:
        yield from (f"[{call}]\n" for call in calls)
        yield "" if shown.texts else NOTHING_TO_SHOW
        yield ""
        return
    status = f"exit {shown.exit_code}"
    if shown.ending:
        yield from (f"[{status}: {shown.ending}; {call}]\n" for call in calls)
        yield f"[{status}: {shown.ending}]\n"
    yield from (f"[{status}; {call}]\n" for call in calls)
    if not (shown.out or shown.err or calls):
        yield f"[{status}; no output]\n"
    yield f"[{status}]\n"
    yield status
    yield ""


def next_calls(shown: Shown) -> Iterator[str]:
    """Yield words for the next call, the longest first; none if the text has them."""
    said = "".join(shown.texts)
    if shown.next_call:
        tool, *words = call_words(shown.next_call).split(" ")
        # A search has its offset apart.
        place = " ".join(words[: 2 if "grep" in shown.next_call else 1])
        if place not in said:
            yield " ".join(("next:", tool, *words))
            yield place
    elif shown.handle and shown.truncated and shown.handle not in said:
        yield f"handle={shown.handle}"


def call_words(found: Mapping[str, Any]) -> str:
    """Return a call as a mark words it: `show handle=lake917365018@464`, or `grep` if there is a pattern."""
    given = {name: str(found[name]) for name in NEXT_ARGUMENTS if name in found}
    if "grep" not in given:
        given["handle"] = at_offset(given["handle"], int(given.pop("offset")))
    tool = "grep" if "grep" in given else "show"
    words = [f"{'pattern' if name == 'grep' else name}={quoted(value)}" for name, value in given.items()]
    return " ".join((tool, *words))


def cost_of(blocks: Sequence[str], tokenizer: str) -> int:
    """Return the most tokens that a reader can count: in each block, or in all of them joined."""
    apart = sum(count(block, tokenizer) for block in blocks)
    return max(apart, count("".join(blocks), tokenizer)) if len(blocks) > 1 else apart


def error_result(error: TokcapError, limit_tokens: int, settings: ServerSettings) -> dict[str, Any]:
    """Return an error. The text begins with its stable code."""
    # The message may quote an argument with a lone surrogate, which cannot be sent as UTF-8.
    message = str(error).encode("utf-8", "replace").decode()
    shown = cap(f"{error.code}: {message}", limit_tokens, tokenizer=settings.tokenizer)
    return {**tool_result([shown.text]), "isError": True}


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


def tool_result(blocks: Sequence[str]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text} for text in blocks]}


def cost_of_result(result: Mapping[str, Any], tokenizer: str) -> int:
    """Return what a result of tokcap itself costs: texts, and images."""
    images = [media_in(block["data"], "", tokenizer) for block in result["content"] if "data" in block]
    texts = [block["text"] for block in result["content"] if "text" in block]
    return cost_of(texts, tokenizer) + sum(image.tokens or 0 for image in images if image)
