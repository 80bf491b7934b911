"""The arithmetic of budgets: what may be granted, what is left, how terse an answer has to be.

Pure: no clock, no files, no processes. Where an account is kept is a `Storage`: in memory (`manager.py`)
or in the file that processes share (`ledger.py`). Both decide with the functions of this module.
"""

from __future__ import annotations

from tokcap.errors import BadNumber, BudgetExhausted
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import ClassVar, Protocol

    class Storage(Protocol):
        """Where one account is kept. Each method is one step that no other process can come between.

        A ledger for many machines has to implement this, and nothing else.
        """

        def reserve(
            self,
            requested: int | None,
            *,
            turn: str | None = None,
            window: Window | None = None,
            shares: Window | None = None,
        ) -> Grant:
            """Set aside what `granted` allows; `BudgetExhausted` if that is nothing.

            None asks for as much as there is. A window given here stands for the session's own, and
            shares for those that the session was not given.
            """
            ...

        def settle(self, grant: Grant | None, actual: int) -> Account:
            """Count what was really used, be it more than the grant or without one, and free the rest."""
            ...

        def release(self, grant: Grant) -> Account:
            """Free a grant of which nothing was used."""
            ...

        def record(self, input_tokens: int, output_tokens: int, key: str | None = None) -> Recorded:
            """Add the caller's own model tokens; with a key once only."""
            ...

        def compacted(self, used: int) -> Account:
            """The reader's context now holds `used` tokens. The total is not given back by that."""
            ...

        def read(self) -> Account: ...


# Far above any budget, and far below where a database counts no further.
MOST_TOKENS = 10**12


def tokens_of(value: object, what: str) -> int:
    """The number itself; `BadNumber` for what can be no number of tokens."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST_TOKENS:
        raise BadNumber(f"{what} is a whole number of tokens from 0 to {MOST_TOKENS}, not {value!r}")
    return value


class _Modes(type):
    def __iter__(cls) -> Iterator[ResponseMode]:
        return iter(MODES)


class ResponseMode(str, metaclass=_Modes):
    """How much of an output is shown. Equal to its plain name; iterated from talkative to terse.

    Not an `enum`, whose import would be a tenth of the time that Python takes to start.
    """

    __slots__ = ()
    RAW: ClassVar[ResponseMode]
    TABLE: ClassVar[ResponseMode]
    SUMMARY: ClassVar[ResponseMode]
    HANDLE_ONLY: ClassVar[ResponseMode]

    def __new__(cls, value: str) -> ResponseMode:
        for mode in MODES:
            if mode == value:
                return mode
        raise ValueError(f"a mode is one of {', '.join(MODES)}, not {value!r}")


MODES = tuple(str.__new__(ResponseMode, name) for name in ("raw", "table", "summary", "handle_only"))
ResponseMode.RAW, ResponseMode.TABLE, ResponseMode.SUMMARY, ResponseMode.HANDLE_ONLY = MODES


class Window(Record):
    """The reader's context, and the shares of it that one result and one turn may take."""

    tokens: int
    result_pct: float = 0.25
    turn_pct: float = 0.5
    floor_tokens: int = 2000

    @property
    def turn_tokens(self) -> int:
        return share_of(self.tokens, self.turn_pct)


class Settings(Record):
    """What a session was started with. None: not said; a session without total refuses nothing."""

    total: int | None = None
    context_window: int | None = None
    result_pct: float | None = None
    turn_pct: float | None = None
    floor_tokens: int | None = None

    def checked(self) -> Settings:
        """Itself; `BadNumber` if there can be no such budget."""
        for name in ("total", "context_window", "floor_tokens"):
            if getattr(self, name) is not None:
                tokens_of(getattr(self, name), name)
        for name in ("result_pct", "turn_pct"):
            fraction = getattr(self, name)
            if fraction is not None and not 0 < fraction <= 1:
                raise BadNumber(
                    f"{name} is a fraction of the window, above 0 and at most 1, not {fraction!r}"
                )
        return self

    @property
    def window(self) -> Window | None:
        """The window, with defaults for what was not said; None if the session has none."""
        return self.window_with(Window(0))

    def window_with(self, shares: Window) -> Window | None:
        """The same with other shares in place of the defaults."""
        if self.context_window is None:
            return None
        said = {name: getattr(self, name) for name in ("result_pct", "turn_pct", "floor_tokens")}
        known = {name: value for name, value in said.items() if value is not None}
        return shares.but(tokens=self.context_window, **known)


class Account(Record):
    """How a session stands."""

    settings: Settings
    # The truth, also where it is more than the total.
    used: int = 0
    reserved: int = 0
    # What the reader's context holds, as far as it is known: all that was shown since it was compacted.
    window_used: int = 0

    @property
    def total(self) -> int | None:
        return self.settings.total

    @property
    def remaining(self) -> int | None:
        """What can still be granted; None: there is no limit."""
        return None if self.total is None else max(self.total - self.used - self.reserved, 0)

    @property
    def usage_fraction(self) -> float:
        """The used part of the total, above 1.0 where more was used; 0.0 without a total."""
        if self.total is None:
            return 0.0
        return self.used / self.total if self.total else 1.0

    def mode(self, requested: str = "raw") -> ResponseMode:
        """The mode that was asked for, or a terser one as the budget runs out.

        What is merely reserved does not count. Of the borders, exactly 50 % left is already `table`,
        exactly 20 % already `summary` (80 % are used), and exactly 5 % still `summary`.
        """
        asked = ResponseMode(requested)
        if self.total is None:
            return asked
        left = max(self.total - self.used, 0)
        if 2 * left > self.total:
            least = ResponseMode.RAW
        elif 5 * left > self.total:
            least = ResponseMode.TABLE
        elif 20 * left >= self.total and left:
            least = ResponseMode.SUMMARY
        else:
            least = ResponseMode.HANDLE_ONLY
        return max(asked, least, key=MODES.index)


class Share(Record):
    """What one result may take of the context."""

    tokens: int
    # Whether it is the floor: less is left, and compaction is advised.
    floor_decides: bool


class Grant(Record):
    """Tokens that were set aside, and how the account stood with them. None: nothing limits the answer."""

    id: int
    tokens: int | None
    turn: str | None
    floor_decides: bool
    account: Account


class Recorded(Record):
    """Whether tokens were counted (their key was new), and how the account stands."""

    counted: bool
    account: Account


def share_of(tokens: int, fraction: float) -> int:
    """A fraction of a window in whole tokens, rounded down.

    Fractions are taken as written, to a millionth: 0.29 of 100 is 29, which as floats it is not.
    """
    return tokens * round(fraction * 1_000_000) // 1_000_000


def result_share(window: Window, taken: int) -> Share:
    """max(floor, min(result_pct × W, what is left of W)), where `taken` is what W holds already."""
    most = min(share_of(window.tokens, window.result_pct), max(window.tokens - taken, 0))
    # A floor above the share of a window that has room is a wish, and no sign that the window is full.
    is_full = max(window.tokens - taken, 0) < window.floor_tokens
    return Share(max(window.floor_tokens, most), is_full and window.floor_tokens > most)


def granted(
    account: Account, requested: int | None, window: Window | None, turn_taken: int | None
) -> tuple[int | None, bool]:
    """The least of what is asked for, the result's share, what the turn and what the session have left.

    `turn_taken` is what the turn used and reserved, None without a turn. The second value says whether
    the floor of the result's share decided. The total and the turn win over the floor.
    """
    if requested is not None:
        # Whoever asks for more than there can be asks for everything.
        requested = tokens_of(min(requested, MOST_TOKENS), "requested")
    if account.remaining == 0:
        raise BudgetExhausted(exhausted_words(account))
    limits = [limit for limit in (requested, account.remaining) if limit is not None]
    floor_decides = False
    if window is not None:
        share = result_share(window, account.window_used + account.reserved)
        if turn_taken is not None:
            turn_left = window.turn_tokens - turn_taken
            if turn_left <= 0:
                raise BudgetExhausted(
                    f"this turn has used its {window.turn_tokens} tokens of a window of {window.tokens};"
                    " go on in the next turn"
                )
            limits.append(turn_left)
        floor_decides = share.floor_decides and all(share.tokens <= limit for limit in limits)
        limits.append(share.tokens)
    least = min(limits, default=None)
    if least == 0 and requested != 0:
        raise BudgetExhausted(
            "the reader's window is full: compact it, then run tokcap budget compacted --used N"
        )
    return least, floor_decides


def exhausted_words(account: Account) -> str:
    """Why nothing can be granted."""
    words = f"the budget is exhausted: {account.used} of {account.total} tokens are used"
    if account.reserved:
        words += f", {account.reserved} are reserved by what still runs"
    return words


def window_after(window_used: int, input_tokens: int, output_tokens: int) -> int:
    """What the context holds after a model call.

    A call sends the whole context again, so its input is not added to what was shown before: after the
    call the context holds at least its input and its output.
    """
    return max(window_used, input_tokens + output_tokens)
