"""`show_tool`: the tool that reads on where `cap_result` has cut, for a model that has no shell."""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING, Any

from tokcap.api.calls import cap
from tokcap.api.captured_environment import CapturedEnvironment, show_captured
from tokcap.api.keywords import build_show_request
from tokcap.environment import FunctionReader
from tokcap.errors import BudgetExhausted, TokcapError, UsageError
from tokcap.mcp.tool_table import FIELDS, PROXY_TOOL, Argument
from tokcap.startup.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

# What a mark may name besides.
MORE_ARGUMENTS = (FIELDS, Argument("shape"))


class ShowTool(Record):
    """The tool, for any framework: its name, description, JSON schema, and function."""

    name: str = PROXY_TOOL.name
    # The most that one call returns.
    limit: int = 4000
    tokenizer: str = "cl100k_base"
    # The session that pays; None if none does.
    session: str | None = None

    @property
    def description(self) -> str:
        return PROXY_TOOL.description

    @property
    def schema(self) -> dict[str, Any]:
        """The arguments as JSON Schema."""
        found: dict[str, Any] = SHOW.listed()["inputSchema"]
        return found

    @property
    def function(self) -> Callable[..., str]:
        """The tool as a function with types and a description of each argument, as frameworks read them."""

        def tokcap_show(
            handle: str,
            offset: int = 0,
            pattern: str = "",
            pointer: str = "",
            context: int = 0,
            limit: int = 0,
            mode: str = "",
            fields: str = "",
            shape: str = "",
        ) -> str:
            return self.call({name: value for name, value in locals().items() if name != "self" and value})

        tokcap_show.__name__ = tokcap_show.__qualname__ = self.name
        lines = [f"    {each.name}: {each.help or each.name}" for each in SHOW.arguments]
        tokcap_show.__doc__ = "\n".join([self.description, "", "Args:", *lines])
        return tokcap_show

    @property
    def async_function(self) -> Callable[..., Coroutine[Any, Any, str]]:
        """The same for an event loop."""
        function = self.function

        @functools.wraps(function)
        async def tokcap_show(*args: Any, **given: Any) -> str:
            return await asyncio.to_thread(function, *args, **given)

        return tokcap_show

    def call(self, arguments: dict[str, Any]) -> str:
        """Return what a model gets for a call with these arguments. A mistake in them is told as text."""
        given = dict(arguments)
        if pattern := given.pop("pattern", None):
            # A search shows lines, so what selects a value does not apply.
            given.pop("pointer", None)
            given["grep"] = pattern
        view = {"keep": "auto", "limit": self.limit, "tokenizer": self.tokenizer, "session": self.session}
        try:
            if unknown := given.keys() - {"grep", *(each.name for each in SHOW.arguments)}:
                raise UsageError(f"unknown argument {min(unknown)!r}")
            request = build_show_request(given.pop("handle", "@last"), {**view, **given})
            limit = min(request.token_limit or self.limit, self.limit)
            environment = CapturedEnvironment(reader=FunctionReader(self.name))
            page = show_captured(request.replace(token_limit=limit), environment)
        except BudgetExhausted:
            # It ends the loop, as for every other tool.
            raise
        except TokcapError as error:
            return cap(f"{error.code}: {error}", self.limit, tokenizer=self.tokenizer).text
        return (page.stdout_data + page.words).decode("utf-8", "replace")


SHOW = PROXY_TOOL.replace(arguments=(*PROXY_TOOL.arguments, *MORE_ARGUMENTS))
show_tool = ShowTool()
