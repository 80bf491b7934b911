"""The settings of a server, which no call can exceed, and what one call may use of them."""

from __future__ import annotations

import os

from tokcap.api.charged_session import Hold, hold_in
from tokcap.environment import Environment
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from tokcap.budget.ledger import SessionView
    from tokcap.core.request import Value

# The limit of one result, unless the user sets another.
DEFAULT_LIMIT_TOKENS = 4000
# Which part of a large output is shown, unless a call or the user says otherwise.
DEFAULT_KEEP = "auto"
# With `pass = true` in a rule.
NO_LIMIT_TOKENS = 1 << 40


class ServerSettings(Record):
    """The settings that apply to every call."""

    # The maximum for one result. A call can only request less.
    limit_tokens: int
    tokenizer: str
    clean: bool
    redact: bool
    max_bytes: int
    # Which part of a large output is shown, unless a call says otherwise.
    keep: str = DEFAULT_KEEP
    session: SessionView | None = None
    # The options that flags and variables set: no rule changes them.
    given: frozenset[str] = frozenset()
    # What a rule says beside the fields above.
    mode: str = "raw"
    view: Mapping[str, Value] | None = None

    def for_tool(self, words: Sequence[str]) -> Self:
        """Return the settings with what a rule of the user says about a command or a tool."""
        from tokcap.cli.rules import rule_for

        rule = rule_for(words, Environment(os.environ))
        if rule is None:
            return self
        view = rule.beside(self.given)
        limit = view.pop("token_limit", self.limit_tokens)
        own = {name: view.pop(name) for name in ("keep", "clean", "redact", "mode") if name in view}
        return self.replace(limit_tokens=limit or NO_LIMIT_TOKENS, view=view, **own)

    def hold(self, requested: int | None = None) -> Hold:
        """Return what one result may use; raise `BudgetExhausted` if that is nothing."""
        limit = self.limit_tokens if requested is None else min(requested, self.limit_tokens)
        from tokcap.shapes import terser

        hold = hold_in(self.session, limit)
        return hold.replace(mode=terser(self.mode, hold.mode))

    def filter_options(self) -> dict[str, object]:
        """Return how every output of a command is filtered, shown and stored."""
        own = {"clean": self.clean, "redact": self.redact, "max_bytes": self.max_bytes}
        return {**own, **(self.view or {})}
