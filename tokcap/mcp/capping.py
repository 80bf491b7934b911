"""Cap the result of a tool of any server: its text blocks together, and its structured content.

Images, audio, links and embedded resources stay as they are. A result that fits is not touched at all.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tokcap.api.calls import cap, encoded
from tokcap.api.charged_session import Hold
from tokcap.core.payload import TextPayload
from tokcap.errors import BudgetExhausted
from tokcap.mcp.results import cost_of
from tokcap.tokens import open_index, open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.mcp.settings import ServerSettings

# A block that is cut needs at least this much: its mark alone has half of it. With less for each, all text
# blocks are joined to one.
LEAST_SHARE_TOKENS = 80
# Shown of a result that a session can no longer pay for: what it is, and its handle.
LAST_LIMIT_TOKENS = 60
MOST_ATTEMPTS = 4


class Capper:
    """Caps results within the limits of a proxy, and charges them to its session."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        # Filters change text that fits, too.
        self._filters = settings.clean or settings.redact

    def result(self, result: dict[str, Any]) -> dict[str, Any] | None:
        """Return the capped result; None if it needs no change."""
        try:
            hold = self._settings.hold()
        except BudgetExhausted:
            # The tool has run, so its result is not withheld altogether.
            hold = Hold(min(self._settings.limit_tokens, LAST_LIMIT_TOKENS), "handle_only")
        try:
            changed, cost = self._within(result, hold.tokens, hold.mode)
        except BaseException:
            hold.release()
            raise
        hold.settle(cost)
        return changed

    def error(self, error: dict[str, Any]) -> dict[str, Any]:
        """Return the error of a call: its message within the limit, and its data if they fit."""
        text, data, limit = error.get("message"), error.get("data"), self._settings.limit_tokens
        if not isinstance(text, str):
            return error
        if self._tokens(text, limit) > limit or self._filters:
            error = {**error, "message": "".join(self._cut(text, limit, "raw"))}
        if data is not None and (self._filters or self._tokens(as_json(data), limit) > limit):
            error = {name: value for name, value in error.items() if name != "data"}
        return error

    def _within(self, result: dict[str, Any], limit: int, mode: str) -> tuple[dict[str, Any] | None, int]:
        """Return the result within `limit` tokens, or None if it is, and what it costs."""
        content = result.get("content")
        blocks: list[Any] = content if isinstance(content, list) else []
        texts = [block["text"] for block in blocks if is_text(block)]
        structured = result.get("structuredContent")
        written = "" if structured is None else as_json(structured)
        changes = self._filters or mode != "raw"
        if not changes and all(self._tokens(text, limit) <= limit for text in (*texts, written)):
            cost = max(self._cost(texts), self._tokens(written, limit))
            if cost <= limit:
                return None, cost
        if structured is not None and not has_value(texts, structured):
            blocks = [*blocks, {"type": "text", "text": written}]
            texts.append(written)
        pieces = iter(self._fitted(texts, limit, mode, changes=changes))
        shown: list[Any] = []
        for block in blocks:
            if is_text(block):
                shown += [{**block, "text": piece} for piece in next(pieces)]
            else:
                shown.append(block)
        capped = {name: value for name, value in result.items() if name != "structuredContent"}
        return {**capped, "content": shown}, self._cost([block["text"] for block in shown if is_text(block)])

    def _fitted(self, texts: Sequence[str], limit: int, mode: str, *, changes: bool) -> list[list[str]]:
        """Return for each text the texts that are shown instead. Together they cost at most `limit`."""
        costs = [self._tokens(text, limit) for text in texts]
        allowed = limit
        for attempt in range(MOST_ATTEMPTS):
            shares = shares_of(costs, allowed)
            if any(share < min(cost, LEAST_SHARE_TOKENS) for share, cost in zip(shares, costs, strict=True)):
                break
            pieces = [
                self._cut(text, share, mode, is_logged=not attempt) if changes or cost > share else [text]
                for text, cost, share in zip(texts, costs, shares, strict=True)
            ]
            total = self._cost([piece for each in pieces for piece in each])
            if total <= limit:
                return pieces
            allowed -= total - limit + 1
        joined = ""
        for text in texts:
            joined += text if not joined or joined.endswith("\n") else f"\n{text}"
        return [self._cut(joined, limit, mode), *([] for _ in texts[1:])]

    def _cut(self, text: str, limit: int, mode: str, *, is_logged: bool = True) -> list[str]:
        """Return a window of a text, and the way to the rest if the window cannot have it."""
        settings = self._settings
        options: dict[str, Any] = {
            **settings.filter_options(),
            "keep": settings.keep,
            "mode": mode,
            # None: as the user has configured it.
            "account": None if is_logged else False,
        }
        shown = cap(text, limit, tokenizer=settings.tokenizer, spill="auto", **options)
        pieces = [piece for piece in (shown.text, shown.words.decode("utf-8", "replace")) if piece]
        return pieces if self._cost(pieces) <= limit else pieces[:1]

    def _tokens(self, text: str, limit: int) -> int:
        """Return the tokens of a text, or `limit` + 1 if it has more, without counting a large one."""
        return open_index(TextPayload(encoded(text)), open_tokenizer(self._settings.tokenizer)).reach(
            limit + 1
        )

    def _cost(self, texts: Sequence[str]) -> int:
        return cost_of(texts, self._settings.tokenizer)


def is_text(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)


def shares_of(costs: Sequence[int], limit: int) -> list[int]:
    """Divide a limit: what costs little is whole, and the others get the same share of the rest."""
    shares, left = [0] * len(costs), limit
    order = sorted(range(len(costs)), key=costs.__getitem__)
    for done, place in enumerate(order):
        shares[place] = min(costs[place], left // (len(order) - done))
        left -= shares[place]
    return shares


def has_value(texts: Sequence[str], structured: Any) -> bool:
    """Return whether the text has the structured content, as the protocol advises."""
    wanted = [structured]
    if isinstance(structured, dict) and len(structured) == 1:
        # Some servers put a result that is not an object into one: {"result": …}.
        wanted += structured.values()
    values = [value_in(text) for text in texts]
    return any(value in wanted for value in (*texts, *values, [*texts], values))


def value_in(text: str) -> Any:
    """Return the JSON value of a text, or the text if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
