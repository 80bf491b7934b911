"""`cap_result`: what a tool returned, cut to what a model may get of it, with the rest stored."""

from __future__ import annotations

import asyncio
import copy
import json
import os
from typing import TYPE_CHECKING, Any

from tokcap.api.calls import capped, decoded_like, encoded
from tokcap.api.captured_environment import CapturedEnvironment, cap_captured
from tokcap.api.charged_session import hold_in
from tokcap.api.keywords import build_run_request
from tokcap.api.show_tool import ShowTool, show_tool
from tokcap.api.values import as_json, is_structure, is_typed, strings_in, with_part
from tokcap.budget import open_ledger
from tokcap.budget.arithmetic import Settings, Window, result_share, tokens_of
from tokcap.cli.rules import rule_for
from tokcap.core.payload import TextPayload
from tokcap.core.request import View
from tokcap.environment import Environment, FunctionReader, ShellReader
from tokcap.errors import BudgetExhausted
from tokcap.mcp.structured import shortened
from tokcap.shapes import terser
from tokcap.startup.record import Record
from tokcap.steps.fitting import lowered
from tokcap.store.handles import at_offset
from tokcap.tokens import count_bytes, open_index, open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Unpack

    from tokcap.api.keywords import ResultOptions
    from tokcap.api.results import Capped
    from tokcap.budget.arithmetic import Share
    from tokcap.core.tokenizer import Tokenizer

DEFAULT_LIMIT_TOKENS = 4000
SENTINEL = View.sentinel
# The writings of a structure are compared by this much of each. A sample is not the whole, so the first
# attempt leaves a part of the limit free.
SAMPLE_BYTES, SPARE_SHARE = 8192, 0.03
# Below this a structure shows nothing that text does not show better.
LEAST_LIMIT_TOKENS = 8
# In more parts than this no long string is looked for.
MOST_PARTS = 500
# Count at most this far beyond the limit.
SURPLUS = 1000
# These change a value that fits, too.
CHANGING_OPTIONS = ("clean", "redact", "fields")


def cap_result(
    value: Any,
    limit: int | None = None,
    *,
    tool: str | None = None,
    session: str | None = None,
    show: ShowTool | None = show_tool,
    **options: Unpack[ResultOptions],
) -> Any:
    r"""Return what a model gets of the result of a tool: at most `limit` tokens, by default 4,000.

    >>> from tokcap import cap_result
    >>> cap_result("short"), cap_result({"ok": True})
    ('short', {'ok': True})
    >>> cap_result({"lines": [f"line {number}" for number in range(500)]}, 60, keep="head")["[TRUNCATED]"]
    'call tokcap_show(handle="quad650377534", offset=14)'

    A result that fits is returned as it is, the same object. Else all of it is stored, and what is returned
    has the same type, with a mark that names the call of `show` which reads on; `show=None`: the command.
    Text, bytes and exceptions are cut as text. Of a dict or a list, the mark is its last member or element. A
    dataclass or a model becomes a dict with all members that its schema needs, if that fits. A structure has
    at most `limit` tokens as compact JSON, as `json.dumps` writes it, and as `str`.

    Rules of the user's configuration for the name `tool` apply where the call says nothing. `session` pays,
    and raises `BudgetExhausted` if it cannot. `keep` is "auto", and the other options are those of `cap`.
    """
    given: dict[str, Any] = {name: each for name, each in options.items() if each is not None}
    env = Environment(os.environ)
    if tool is not None and (rule := rule_for((tool,), env)):
        found = rule.beside({*given, *(() if limit is None else ("token_limit",))})
        if "token_limit" in found and found["token_limit"] is None:
            return value
        given = {**found, **given}
        limit = given.pop("token_limit", limit)
    request = build_run_request(
        (), {"keep": "auto", **given, "limit": DEFAULT_LIMIT_TOKENS if limit is None else limit}
    )
    payer = None if session is None else open_ledger(env).session(session)
    hold = hold_in(payer, request.token_limit or 0)
    given["mode"] = terser(request.mode, hold.mode)
    try:
        shown, cost = ResultCut(value, hold.tokens, given, open_tokenizer(request.tokenizer), show).best()
    except BaseException:
        hold.release()
        raise
    hold.settle(cost)
    return shown


async def acap_result(
    value: Any,
    limit: int | None = None,
    *,
    tool: str | None = None,
    session: str | None = None,
    show: ShowTool | None = show_tool,
    **options: Unpack[ResultOptions],
) -> Any:
    """Return the same as `cap_result`, without blocking the event loop."""
    return await asyncio.to_thread(cap_result, value, limit, tool=tool, session=session, show=show, **options)


class ToolBudget(Record):
    r"""How much of a model's context the next result of a tool may take.

    >>> from tokcap import ToolBudget
    >>> budget = ToolBudget(context_window=8_000, used=7_000, floor_tokens=100)
    >>> budget.allowance, budget.compact_first
    (1000, False)
    >>> budget.apply("".join(f"line {number}\n" for number in range(1000))).splitlines()[-1]
    '[TRUNCATED] 912/4000 tokens; …N lines: --gaps; tokcap show extr221521846@460'
    """

    context_window: int
    used: int = 0
    # One result may use this part of the window, and the floor even if the window is full.
    result_pct: float = 0.25
    floor_tokens: int = 2000
    tokenizer: str = "cl100k_base"

    @property
    def allowance(self) -> int:
        """Tokens that the next result may use: max(floor, min(result_pct × window, what is left of it))."""
        return self._share.tokens

    @property
    def compact_first(self) -> bool:
        """Whether less than the floor is left. Compact the context before adding the result."""
        return self._share.floor_decides

    @property
    def _share(self) -> Share:
        Settings(None, self.context_window, self.result_pct, None, self.floor_tokens).checked()
        window = Window(self.context_window, self.result_pct, floor_tokens=self.floor_tokens)
        return result_share(window, tokens_of(self.used, "used"))

    def apply(self, value: Any, *, show: ShowTool | None = None, **options: Unpack[ResultOptions]) -> Any:
        """Return `cap_result` of a value within the allowance. The same numbers and value: the same bytes."""
        if not self.allowance:
            raise BudgetExhausted("the context is full: compact it first")
        given: ResultOptions = {"tokenizer": self.tokenizer, **options}
        return cap_result(value, self.allowance, show=show, **given)


class ResultCut:
    """One result of a tool, and how it is cut."""

    def __init__(
        self, value: object, limit: int, options: dict[str, Any], tokenizer: Tokenizer, show: ShowTool | None
    ) -> None:
        self._value = value
        self._limit = limit
        self._options = {"keep": "auto", "spill": "auto", **options}
        self._tokenizer = tokenizer
        self._reader = FunctionReader(show.name) if show else ShellReader()
        self._json = json_of(value)
        self._is_changed = self._options["mode"] != "raw" or any(map(self._options.get, CHANGING_OPTIONS))

    def best(self) -> tuple[Any, int]:
        """Return what is shown, and what that costs."""
        cost = self._cost(self._value)
        if cost <= self._limit and not self._is_changed:
            return self._value, cost
        if self._json is not None and not self._is_changed and (shown := self._with_shorter_text(self._json)):
            return shown
        source = encoded(text_of(self._value)) if self._json is None else self._json
        tokens = self._limit if self._json is None else self._first_limit(self._json)
        attempts = 0
        while True:
            page = self._page(source, tokens, is_logged=not attempts)
            found = self._value if page.data == source else self._made_of(page)
            cost = self._cost(found)
            if cost <= self._limit:
                return found, cost
            attempts += 1
            if (tokens := lowered(tokens, cost - self._limit, self._limit, attempts)) < LEAST_LIMIT_TOKENS:
                # Too little for a structure, so it is shown as text.
                text = text_with_words(self._page(source, self._limit, is_logged=False))
                return text, self._cost(text)

    def _with_shorter_text(self, source: bytes) -> tuple[Any, int] | None:
        """Cut one long string of a structure, such as the output of a command next to its status.

        Return None if the other members are too large.
        """
        document = json.loads(source)
        strings = strings_in(document, MOST_PARTS)
        path, text = max(strings, key=lambda found: len(found[1]), default=((), ""))
        if 2 * len(text) < len(source) or 2 * self._cost(with_part(document, path, "")) > self._limit:
            return None
        tokens, attempts = self._limit, 0
        while tokens >= LEAST_LIMIT_TOKENS:
            page = self._page(encoded(text), tokens, is_logged=not attempts)
            found = with_part(document, path, text_with_words(page))
            if not page.handle or page.handle not in text_with_words(page):
                return None
            if (cost := self._cost(found)) <= self._limit:
                return found, cost
            attempts += 1
            tokens = lowered(tokens, cost - self._limit, self._limit, attempts)
        return None

    def _page(self, source: bytes, limit: int, *, is_logged: bool) -> Capped[bytes]:
        """Return a window of the result as a run of the command line would show it."""
        # None: as the user has configured it.
        account = None if is_logged else False
        request = build_run_request((), {**self._options, "limit": limit, "account": account})
        captured = cap_captured(request, source, CapturedEnvironment(reader=self._reader))
        return capped(captured, captured.stdout_data)

    def _made_of(self, page: Capped[bytes]) -> Any:
        """Return a value of the type of the result, with what a window shows of it."""
        value, text = self._value, text_with_words(page)
        if isinstance(value, BaseException):
            return with_message(value, text)
        if self._json is None:
            return page.data + page.words if isinstance(value, bytes | bytearray | memoryview) else text
        try:
            document = json.loads(page.data)
        except ValueError:
            document = None
        if not isinstance(document, dict | list):
            # A shorter mode shows no structure, and a small limit none but the mark.
            return text
        if not page.truncated:
            return document
        if is_typed(value) and not self._is_changed and (found := self._of_its_type(page.handle)) is not None:
            return found
        mark = page.words.decode("utf-8", "replace").strip()
        if not mark and page.handle:
            # Under a low limit the words about a structure are left out.
            mark = f"{SENTINEL} {self._reader.call(at_offset(page.handle, page.next_offset or 0))}"
        return with_mark(document, mark) if mark else document

    def _of_its_type(self, handle: str | None) -> Any:
        """Return a dataclass or a model as a dict that is valid by its schema; None if that does not fit."""
        # It is cut in many places, so the mark leads to its beginning.
        mark = f"{SENTINEL} {self._reader.call(handle) if handle else 'not stored'}"
        schema = getattr(type(self._value), "model_json_schema", lambda: None)()

        def fits(shown: Any) -> bool:
            return self._cost(with_mark(shown, mark)) <= self._limit

        found = shortened(json.loads(self._json or b""), schema, fits, {}, "")
        return found and with_mark(found, mark)

    def _cost(self, value: Any) -> int:
        """Return the tokens of a value in the most expensive of its usual writings.

        Above the limit this is any number above it: a long text need not be counted to its end.
        """
        cost = 0
        for text in writings(value, self._json if value is self._value else json_of(value)):
            cost = max(cost, open_index(TextPayload(text), self._tokenizer).reach(self._limit + SURPLUS))
            if cost > self._limit:
                break
        return cost

    def _first_limit(self, source: bytes) -> int:
        """Return a limit for compact JSON with which other writings are probably within the limit, too."""
        samples = [(len(text), text[:SAMPLE_BYTES]) for text in writings(self._value, source)]
        costs = [size * count_bytes(sample, self._tokenizer) / len(sample) for size, sample in samples]
        share = costs[0] / max(costs) * (1 - SPARE_SHARE)
        return max(int(self._limit * share), 1)


def json_of(value: object) -> bytes | None:
    """Return a structure as compact JSON; None if it is shown as text."""
    if not is_structure(value):
        return None
    try:
        return as_json(value)
    except (TypeError, ValueError, RecursionError):
        # It contains itself, or has keys that JSON does not have.
        return None


def writings(value: Any, structure: bytes | None) -> Iterator[bytes]:
    """Yield a value as a model may get it, a structure first as compact JSON."""
    if structure is None:
        yield encoded(text_of(value))
        return
    yield structure
    yield json.dumps(json.loads(structure)).encode()
    yield encoded(str(value))


def text_of(value: Any) -> str | bytes:
    return bytes(value) if isinstance(value, bytes | bytearray | memoryview) else str(value)


def text_with_words(page: Capped[bytes]) -> str:
    return decoded_like("", page.data + page.words)


def with_message(error: BaseException, message: str) -> BaseException:
    """Return an exception of the same type with a shorter message and without its cause."""
    try:
        found = copy.copy(error)
        found.args = (message,)
        vars(found).pop("__notes__", None)
    except Exception:
        found = RuntimeError(message)
    if str(found) != message:
        # Its class words its message itself.
        found = RuntimeError(message)
    found.__suppress_context__ = True
    return found


def with_mark(document: dict[str, Any] | list[Any], mark: str) -> Any:
    """Return a cut JSON document with the way to the rest as its last element or member."""
    if isinstance(document, list):
        return [*(document[:-1] if document[-1:] == [SENTINEL] else document), mark]
    key = SENTINEL
    while document.get(key, True) is not True:
        key += "_"
    return {
        **{name: each for name, each in document.items() if name != key},
        key: mark.removeprefix(f"{SENTINEL} "),
    }
