"""`ToolBudget`: how many tokens of a model's context one tool result may use, and the result cut to fit.

The same text and numbers always give the same bytes. No time or path appears in them, so a message in a
conversation never changes and prompt caches stay valid. The only side effect is the stored output.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, AnyStr

from tokcap.api.calls import cap, decoded_like
from tokcap.budget.arithmetic import Settings, Window, result_share, share_of, tokens_of
from tokcap.errors import BudgetExhausted
from tokcap.startup.record import Record

if TYPE_CHECKING:
    from tokcap.api.results import Capped
    from tokcap.core.request import Keep, Shape


class ToolBudget(Record):
    r"""The state of a model's context before a tool result is added to it.

    >>> from tokcap import ToolBudget
    >>> budget = ToolBudget(context_window=8_000, used=7_000, floor_tokens=100)
    >>> budget.baseline, budget.remaining, budget.allowance, budget.compact_first
    (2000, 1000, 1000, False)
    >>> message = budget.apply("".join(f"line {number}\n" for number in range(1000)))
    >>> message.text.splitlines()[-1]
    '[TRUNCATED] 964/4000 tokens; …N lines: --gaps; tokcap show extr221521846@512'
    >>> budget.after(message.returned_tokens).compact_first
    True
    """

    context_window: int
    used: int
    result_pct: float
    floor_tokens: int
    tokenizer: str

    def __init__(
        self,
        context_window: int,
        used: int = 0,
        result_pct: float = 0.25,
        floor_tokens: int = 2000,
        tokenizer: str = "cl100k_base",
    ) -> None:
        """Raise `BadNumber` if a number is impossible.

        `context_window` is the size of the context in tokens, and `used` how many of them are in use. One
        result may use the part `result_pct` of the window, and `floor_tokens` even if the window is full.
        """
        tokens_of(used, "used")
        Settings(None, context_window, result_pct, None, floor_tokens).checked()
        super().__init__(context_window, used, result_pct, floor_tokens, tokenizer)  # type: ignore[call-arg]  # a record has the fields of its class

    @property
    def baseline(self) -> int:
        """Tokens that one result may use while there is enough room."""
        return share_of(self.context_window, self.result_pct)

    @property
    def remaining(self) -> int:
        """Tokens left in the window."""
        return max(self.context_window - self.used, 0)

    @property
    def allowance(self) -> int:
        """Tokens that the next result may use: max(floor_tokens, min(baseline, remaining))."""
        return result_share(self._window, self.used).tokens

    @property
    def compact_first(self) -> bool:
        """Whether less than `floor_tokens` is left. Compact the context before adding the result."""
        return result_share(self._window, self.used).floor_decides

    @property
    def _window(self) -> Window:
        return Window(self.context_window, self.result_pct, floor_tokens=self.floor_tokens)

    def after(self, tokens: int) -> ToolBudget:
        """Return the budget after `tokens` more tokens were added to the context."""
        return self.replace(used=self.used + tokens_of(tokens, "tokens"))

    def apply(
        self, text: AnyStr, *, shape: Shape = "auto", keep: Keep = "auto", ask: str = ""
    ) -> Capped[AnyStr]:
        """Return the message for the conversation. A text that fits into `allowance` tokens is unchanged.

        A longer text is stored as a whole. The message is then what matters in it and the command that shows
        the rest, together at most `allowance` tokens. `keep` chooses another part, `ask` is the question of
        the reader.
        """
        if not self.allowance:
            raise BudgetExhausted("the context is full: compact it first")
        found = cap(
            text,
            self.allowance,
            tokenizer=self.tokenizer,
            shape=shape,
            keep=keep,
            ask=ask,
            spill="auto",
        )
        message = found.data + found.words
        return found.replace(data=message, text=decoded_like(text, message), words=b"")
