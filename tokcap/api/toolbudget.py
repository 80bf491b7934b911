"""`ToolBudget`: what one tool result may take of a model's context, and the result made to fit it.

Pure but for the store: the same text and the same numbers give the same bytes, without clock or path, so that
a message that stands in a conversation never changes and prompt caches stay warm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, AnyStr

from tokcap.api.calls import as_given, cap
from tokcap.budget.arithmetic import Settings, Window, result_share, share_of, tokens_of
from tokcap.cli.options import BY_KEY
from tokcap.errors import BudgetExhausted
from tokcap.lean.record import Record
from tokcap.tokens import count_bytes, open_tokenizer

if TYPE_CHECKING:
    from tokcap.api.results import Capped
    from tokcap.core.request import Keep, Shape


class ToolBudget(Record):
    r"""The context of a model as it stands before a tool result is put into it.

    >>> from tokcap import ToolBudget
    >>> budget = ToolBudget(context_window=8_000, used=7_000, floor_tokens=100)
    >>> budget.baseline, budget.available, budget.allowance, budget.compact_first
    (2000, 1000, 1000, False)
    >>> message = budget.apply("".join(f"line {number}\n" for number in range(1000)))
    >>> message.text.splitlines()[-1]
    '[TRUNCATED] tokens 0-964 of 4000; next: tokcap show 498716b4fbac --token-offset 964'
    >>> budget.after(message.returned_tokens).compact_first
    True
    """

    # Tokens of the model's context, and those that it holds already.
    context_window: int
    used: int = 0
    # What part of the window one result may take, and what it may take even of a full one.
    result_pct: float = 0.25
    floor_tokens: int = 2000
    tokenizer: str = "cl100k_base"

    if not TYPE_CHECKING:

        def __init__(self, *args, **named):
            super().__init__(*args, **named)
            tokens_of(self.used, "used")
            Settings(None, self.context_window, self.result_pct, None, self.floor_tokens).checked()

    @property
    def baseline(self) -> int:
        """What one result may take while there is room."""
        return share_of(self.context_window, self.result_pct)

    @property
    def available(self) -> int:
        """What is left of the window."""
        return max(self.context_window - self.used, 0)

    @property
    def allowance(self) -> int:
        """What the next result may have: max(floor, min(baseline, available))."""
        return result_share(self._window, self.used).tokens

    @property
    def compact_first(self) -> bool:
        """Whether the context is so full that the floor decides: compact it before the result goes in."""
        return result_share(self._window, self.used).floor_decides

    @property
    def _window(self) -> Window:
        return Window(self.context_window, self.result_pct, floor_tokens=self.floor_tokens)

    def after(self, tokens: int) -> ToolBudget:
        """The budget when so many more tokens are in the context."""
        return self.but(used=self.used + tokens_of(tokens, "tokens"))

    def apply(self, text: AnyStr, *, shape: Shape = "auto", keep: Keep = "head") -> Capped[AnyStr]:
        """A tool result as it goes into the conversation: itself if it fits.

        Else all of it is stored, and the message is a preview with the command that reads on, in
        `allowance` tokens together.
        """
        allowance = room = self.allowance
        if not allowance:
            raise BudgetExhausted("the context is full: compact it first")
        tokenizer = open_tokenizer(self.tokenizer)

        def preview(limit: int) -> Capped[AnyStr]:
            return cap(text, limit, tokenizer=self.tokenizer, shape=shape, keep=keep, spill="auto")

        shown = whole = preview(room)
        # The mark in a text says how to read on. In JSON and tables it is bare, and the words stand below.
        while shown.truncated and shown.meta.shape != "text" and room > 0:
            message = with_words(shown)
            cost = count_bytes(message, tokenizer)
            if cost <= allowance:
                return shown.but(data=message, text=as_given(text, message))
            room -= max(cost - allowance, 1)
            if room > 0:
                shown = preview(room)
        return whole


def with_words(shown: Capped[AnyStr]) -> bytes:
    """What is shown, and below it what is missing."""
    words = shown.hint or (
        f"all of it: tokcap show {shown.handle}" if shown.handle else "the rest is not stored"
    )
    line_end = b"" if shown.data.endswith(b"\n") else b"\n"
    return shown.data + line_end + f"{BY_KEY['sentinel'].default} {words}\n".encode()
