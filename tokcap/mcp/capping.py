"""Cap what an answer of any server brings into a model's context, whatever kind of content it is.

What fits is not touched at all. Of the rest, text is cut, images that still fit are kept, other bytes are
stored and described, and structured content is shortened within its schema.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tokcap.api.calls import cap, encoded
from tokcap.api.values import strings_in, with_part
from tokcap.core.payload import TextPayload
from tokcap.mcp.media import blobs_in, media_in
from tokcap.mcp.structured import shortened
from tokcap.mcp.tool_table import PROXY_READER
from tokcap.shapes.paths import as_step
from tokcap.startup.record import Record
from tokcap.tokens import open_index, open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokcap.api.charged_session import Hold
    from tokcap.environment import Reader
    from tokcap.mcp.media import Media
    from tokcap.mcp.settings import ServerSettings

# Where a text, or bytes in base64, can be in a block of content.
PLACES = (("text",), ("resource", "text"), ("data",), ("blob",), ("resource", "blob"))
# These members of a block are for the client.
UNSEEN = ("type", "_meta", "annotations")
# A text that is cut needs at least this much: its mark alone has half of it. With less for each, all texts
# are joined to one.
LEAST_SHARE_TOKENS = 80
# Enough to say what a stored output is.
NOTE_TOKENS, MARK_TOKENS = 60, 24
LONGEST_URI_CHARACTERS = 200


class Part(Record):
    """One block of content: a text that can be cut, or bytes, and what else a model may read of the block."""

    item: Any
    # Where the text is in the item; none: it stands for the whole item.
    place: tuple[str, ...]
    text: str
    frame: str = ""
    media: Media | None = None

    @property
    def texts(self) -> tuple[str, str]:
        """What is counted as text. Bytes that are not shown as image or audio may be shown in base64."""
        return self.frame, "" if self.media and self.media.tokens else self.text


class Capper:
    """Caps answers within the limits of a proxy."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        # Filters change text that fits, too.
        self._filters = (
            settings.clean or settings.redact or bool(settings.view and settings.view.get("fields"))
        )

    def result(
        self, key: str, result: dict[str, Any], hold: Hold, schema: Any = False
    ) -> tuple[dict[str, Any] | None, int]:
        """Return the capped result, or None if it needs no change, and what it costs.

        `key` names the list of its content. `schema` is that of the structured content: False if there is
        none, None if it is not known.
        """
        items, structured = result.get(key), result.get("structuredContent")
        if not isinstance(items, list):
            if structured is None:
                return None, 0
            items = []
        parts = [self._part(item, key) for item in items]
        about = result.get("description") if key == "messages" else None
        cost = self._cost(parts, *(as_json(each) for each in (structured, about) if each is not None))
        if cost <= hold.tokens and not self._filters and hold.mode == "raw":
            return None, cost
        capped = without(result, "structuredContent", "description")
        written = ""
        if structured is not None:
            written = as_json(structured)
            is_said = has_value([part.text for part in parts], structured)
            if schema is False or result.get("isError"):
                parts += [] if is_said else [text_part(written)]
                written = ""
            elif found := self._shortened(written, schema, parts, hold):
                capped["structuredContent"], note = found
                parts += [] if is_said or not note else [text_part(f"[structured content was cut; {note}]\n")]
                written = as_json(capped["structuredContent"])
            else:
                # A client accepts a result without its structured content only if it is an error.
                problem = f"the tool has run, but its result does not fit in {hold.tokens} tokens"
                capped["isError"], parts, written = True, [text_part(f"{problem}\n{written}")], ""
        shown = capped[key] = self._fitted(parts, key, written, hold)
        return capped, self._cost([self._part(item, key) for item in shown], written)

    def error(self, error: dict[str, Any], limit: int) -> tuple[dict[str, Any], int]:
        """Return the error of a request, its message within the limit, and what it costs."""
        text, data = error.get("message"), error.get("data")
        message = text if isinstance(text, str) else as_json(text)
        cost = self._cost((), message, "" if data is None else as_json(data))
        if cost <= limit and not self._filters:
            return error, cost
        if self._filters or self._cost((), message) > limit:
            message = "".join(self._cut(message, limit, "raw"))
        return {**without(error, "data"), "message": message}, self._cost((), message)

    def _part(self, item: Any, key: str) -> Part:
        """Divide a block of content into what can be cut and what is around it."""
        before: tuple[str, ...] = ("content",) if key == "messages" else ()
        block = value_at(item, before)
        if not isinstance(block, dict):
            return Part(item, (), as_json(item))
        for place in PLACES:
            text = value_at(block, place)
            if isinstance(text, str):
                around = without(with_part(block, place, ""), *UNSEEN)
                frame = "" if around == {"text": ""} else as_json(around)
                named = value_at(block, (*place[:-1], "mimeType"))
                known, is_text = named if isinstance(named, str) else "", place[-1] == "text"
                media = None if is_text else media_in(text, known, self._settings.tokenizer)
                if media and not media.tokens:
                    return Part(item, (), as_json(block), "", media)
                if self._tokens(frame) > LEAST_SHARE_TOKENS or not (is_text or media):
                    break
                return Part(item, (*before, *place), text, frame, media)
        return Part(item, (), as_json(without(block, "_meta", "annotations")))

    def _shortened(
        self, written: str, schema: Any, parts: Sequence[Part], hold: Hold
    ) -> tuple[Any, str] | None:
        """Return structured content that is valid and fits, and a note if something of it is left out."""
        if self._filters:
            written = self._cut(written, None, "raw")[0]
        whole, cost = value_in(written), self._cost((), written)
        share = shares_of([*(self._cost([part]) for part in parts), cost], hold.tokens)[-1]
        if cost <= share:
            return whole, ""
        handle = self._stored(written)
        note = PROXY_READER.call(handle) if handle else ""
        _, lines = self._folded(written)
        # Texts can do with a mark, if nothing shorter is valid.
        most = hold.tokens - MARK_TOKENS
        for limit, mark in ((min(share, most), note), (most, note), (most, "")):

            def fits(value: Any, limit: int = limit) -> bool:
                return self._cost((), as_json(value)) <= limit

            if (shown := shortened(whole, schema, fits, lines, mark)) is not None:
                return shown, note or "not stored"
        return None

    def _fitted(self, parts: list[Part], key: str, structured: str, hold: Hold) -> list[Any]:
        """Return blocks that are within the limit together with the structured content."""
        room = hold.tokens - self._cost((), structured)
        # What is cut of a text can be read later, and bytes cannot be cut. So bytes are kept if the texts
        # have some room next to them.
        left = room - sum(
            NOTE_TOKENS if part.media else min(self._cost([part]), LEAST_SHARE_TOKENS) for part in parts
        )
        is_over = self._cost(parts, structured) > hold.tokens
        for number, part in enumerate(parts):
            if not part.media:
                parts[number] = part.replace(text=self._folded(part.text)[0]) if is_over else part
            elif self._cost([part]) <= left + NOTE_TOKENS:
                left += NOTE_TOKENS - self._cost([part])
            else:
                parts[number] = Part(part.item, (), self._described(part.media))
        is_logged = True
        for is_last in (False, True):
            if is_last:
                # What is around the texts leaves no room for them. So all of it becomes one text.
                texts = [
                    part.frame + (self._described(part.media) if part.media else part.text) for part in parts
                ]
                parts = [text_part("".join(text if text.endswith("\n") else f"{text}\n" for text in texts))]
            around = [
                part if part.media else self._part(text_item(part.item, key, ""), key) for part in parts
            ]
            left = room - self._cost(around)
            while (pieces := self._pieces(parts, left, hold.mode, is_last, is_logged)) is not None:
                shown = [
                    item
                    for part, texts in zip(parts, pieces, strict=True)
                    for item in items_of(part, key, texts)
                ]
                excess = self._cost([self._part(item, key) for item in shown], structured) - hold.tokens
                if excess <= 0:
                    return shown
                left, is_logged = left - excess, False
        return []

    def _pieces(
        self, parts: Sequence[Part], limit: int, mode: str, is_last: bool, is_logged: bool
    ) -> list[list[str]] | None:
        """Return the texts that are shown of each part, about `limit` tokens; None if there is no room."""
        costs = [0 if part.media else self._tokens(part.text) for part in parts]
        shares = shares_of(costs, limit)
        least = 1 if is_last else LEAST_SHARE_TOKENS
        if limit < 0 or any(share < min(cost, least) for share, cost in zip(shares, costs, strict=True)):
            return None
        changes = self._filters or mode != "raw"
        return [
            self._cut(part.text, share, mode, is_logged)
            if share and (changes or cost > share)
            else [part.text]
            for part, cost, share in zip(parts, costs, shares, strict=True)
        ]

    def _cut(self, text: str, limit: int | None, mode: str, is_logged: bool = True) -> list[str]:
        """Return a window of a text, and the way to the rest if the window cannot have it."""
        settings = self._settings
        options: dict[str, Any] = {
            "spill": "auto",
            **settings.filter_options(),
            "keep": settings.keep,
            "mode": mode,
            # None: as the user has configured it.
            "account": None if is_logged else False,
        }
        shown = cap(text, limit, tokenizer=settings.tokenizer, **options)
        pieces = [piece for piece in (shown.text, shown.words.decode("utf-8", "replace")) if piece]
        excess = 0 if limit is None else self._cost((), *pieces) - limit
        if limit is None or excess <= 0:
            return pieces
        # Apart, they cost more than joined.
        return self._cut(text, limit - excess, mode, False) if limit > excess else pieces[:1]

    def _stored(self, data: str | bytes) -> str | None:
        """Store bytes, or a text as the filters leave it, and return the handle; None if that failed."""
        options: dict[str, Any] = {
            **self._settings.filter_options(),
            "spill": "always",
            "mode": "handle_only",
        }
        if isinstance(data, bytes):
            options |= {"clean": False, "redact": False}
        return cap(encoded(data), NOTE_TOKENS, **options).handle

    def _described(self, media: Media) -> str:
        """Store bytes, and return a line about them."""
        handle = self._stored(media.data)
        return f"[{media.words()}; {PROXY_READER.call(handle) if handle else 'could not be stored'}]\n"

    def _folded(self, text: str) -> tuple[str, dict[str, str]]:
        return folded(text, self._settings.tokenizer, self._stored, PROXY_READER)

    def _cost(self, parts: Sequence[Part], *others: str) -> int:
        """Return what a model reads at most: in each text, or in all of them joined; and of images.

        Of what is above the limit anyway, not everything is counted.
        """
        media = sum(part.media.tokens or 0 for part in parts if part.media)
        texts = [text for text in (*(text for part in parts for text in part.texts), *others) if text]
        apart = sum(self._tokens(text) for text in texts)
        if apart > self._settings.limit_tokens or len(texts) < 2:
            return apart + media
        return max(apart, self._tokens("".join(texts))) + media

    def _tokens(self, text: str) -> int:
        """Return the tokens of a text, or one more than the limit if there are more."""
        index = open_index(TextPayload(encoded(text)), open_tokenizer(self._settings.tokenizer))
        return index.reach(self._settings.limit_tokens + 1)


def folded(
    text: str, tokenizer: str, stored: Callable[[str], str | None], reader: Reader
) -> tuple[str, dict[str, str]]:
    """Return a text with a line instead of each blob in it, and what became of the strings of JSON.

    `stored` stores the text and returns its handle, `reader` words the way to it.
    """
    value = value_in(text)
    is_json = isinstance(value, dict | list)
    strings = strings_in(value) if is_json else [((), text)]
    found = [(path, string, blob) for path, string in strings for blob in blobs_in(string, tokenizer)]
    lines: dict[str, str] = {}
    if not found or not (handle := stored(text)):
        return text, lines
    for path, string, (blob, media) in found:
        pointer = "".join(f"/{as_step(str(name))}" for name in path)
        call = reader.call(handle, (("pointer", pointer),) if is_json else ())
        line = f"[base64 of {media.words()}; {call}]"
        lines[string] = lines.get(string, string).replace(blob, line)
        # The rest of a document stays as it was written.
        before, after = (as_json(blob)[1:-1], as_json(line)[1:-1]) if is_json else (blob, line)
        text = text.replace(before, after)
    return text, lines


def text_part(text: str) -> Part:
    return Part({}, (), text)


def items_of(part: Part, key: str, texts: Sequence[str]) -> list[Any]:
    """Return a block of content with another text, and the texts behind it as blocks of their own."""
    if part.media:
        return [part.item]
    is_same = bool(part.place)
    return [
        with_part(part.item, part.place, text)
        if is_same and (not number or key == "content")
        else text_item(part.item, key, text)
        for number, text in enumerate(texts)
    ]


def text_item(item: Any, key: str, text: str) -> dict[str, Any]:
    """Return a text in the form of the items of a list of this name, in place of one of them."""
    given = item if isinstance(item, dict) else {}
    if key == "contents":
        uri = str(given.get("uri", ""))[:LONGEST_URI_CHARACTERS]
        return {"uri": uri, "mimeType": "text/plain", "text": text}
    block = {"type": "text", "text": text}
    return block if key == "content" else {"role": given.get("role", "user"), "content": block}


def value_at(value: Any, place: Sequence[str]) -> Any:
    for name in place:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def without(value: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: each for name, each in value.items() if name not in names}


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
    """Return a value as the dearer kind of clients writes it, with blanks."""
    return json.dumps(value, ensure_ascii=False)
