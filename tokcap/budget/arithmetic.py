"""The arithmetic of budgets: what can be granted, what is left, the modes of answers, and periods.

It uses no clock, file or process. What a step changes is in `rules`, which calculates with these functions.
"""

from __future__ import annotations

import time

from tokcap.errors import BadNumber, BudgetExhausted
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import ClassVar

# Above any real budget, and far below the largest integer of a database.
MOST_TOKENS = 10**12
# How the answers of a session change while its total is used up, if not by the ladder of `ResponseMode`: not
# at all until the total refuses; or not at all, and the total refuses nothing.
MODES_OF_SESSIONS = ("fixed", "soft")
# How often a session may begin a new period: days begin at 00:00 UTC, weeks on Monday.
RENEWALS = ("day", "week", "month")
DAY_SECONDS = 86_400
# 1970-01-01 was a Thursday.
DAYS_SINCE_MONDAY = 3
# From a time in a period, go on for this many days to be in the next one. A month has at most 31.
DAYS_TO_NEXT = {"day": 1, "week": 7, "month": 32}


def tokens_of(value: object, what: str) -> int:
    """Return the value; raise `BadNumber` if it is not a number of tokens."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST_TOKENS:
        raise BadNumber(f"{what} must be a whole number of tokens from 0 to {MOST_TOKENS}, not {value!r}")
    return value


class _Modes(type):
    def __iter__(cls) -> Iterator[ResponseMode]:
        return iter(MODES)


class ResponseMode(str, metaclass=_Modes):
    """A mode, equal to its plain name. Iterate over the class from the longest answers to the shortest.

    Not an `enum`: that import takes a tenth of the time that Python takes to start.
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
        raise ValueError(f"mode must be one of {', '.join(MODES)}, not {value!r}")

    @classmethod
    def named(cls, name: str) -> ResponseMode:
        """Return a mode that may have been added from outside; those are not attributes of the class."""
        return cls(name) if name in MODES else str.__new__(cls, name)


MODES = tuple(str.__new__(ResponseMode, name) for name in ("raw", "table", "summary", "handle_only"))
ResponseMode.RAW, ResponseMode.TABLE, ResponseMode.SUMMARY, ResponseMode.HANDLE_ONLY = MODES


class Window(Record):
    """The model's context window, and the shares of it that one result and one turn may take."""

    tokens: int
    result_pct: float = 0.25
    turn_pct: float = 0.5
    floor_tokens: int = 2000

    @property
    def turn_tokens(self) -> int:
        return share_of(self.tokens, self.turn_pct)


class Settings(Record):
    """What a session was started with; None means not given. Without a total, nothing is refused."""

    total: int | None = None
    context_window: int | None = None
    result_pct: float | None = None
    turn_pct: float | None = None
    floor_tokens: int | None = None
    # The session that this one is a part of: what this one reserves and uses counts there too.
    parent: str | None = None
    # One of `RENEWALS`: then what was used begins at 0 again in each period.
    renew: str | None = None
    # One of `MODES_OF_SESSIONS`.
    modes: str | None = None

    def checked(self) -> Settings:
        """Return the settings; raise `BadNumber` if one of them is impossible."""
        for name in ("total", "context_window", "floor_tokens"):
            if getattr(self, name) is not None:
                tokens_of(getattr(self, name), name)
        for name in ("result_pct", "turn_pct"):
            fraction = getattr(self, name)
            if fraction is not None and not 0 < fraction <= 1:
                raise BadNumber(
                    f"{name} must be a fraction of the window, above 0 and at most 1, not {fraction!r}"
                )
        if self.renew is not None and self.renew not in RENEWALS:
            raise BadNumber(f"renew must be one of {', '.join(RENEWALS)}, not {self.renew!r}")
        if self.modes is not None and self.modes not in MODES_OF_SESSIONS:
            raise BadNumber(f"modes must be one of {', '.join(MODES_OF_SESSIONS)}, not {self.modes!r}")
        return self

    def window(self, shares: Window | None = None) -> Window | None:
        """Return the session's window; None if it has none.

        `shares` replaces the default shares and floor. Shares that the session was started with win.
        """
        if self.context_window is None:
            return None
        own = {
            "result_pct": self.result_pct,
            "turn_pct": self.turn_pct,
            "floor_tokens": self.floor_tokens,
        }
        given = {name: value for name, value in own.items() if value is not None}
        return (shares or Window(0)).replace(tokens=self.context_window, **given)


class Account(Record):
    """The numbers of one session."""

    settings: Settings
    # What was really used. It can be more than the total.
    used: int = 0
    reserved: int = 0
    # What the model's context holds, as far as known: everything shown since the last compaction.
    window_used: int = 0
    # The part of `reserved` that sessions below this one hold: it goes into other contexts.
    reserved_below: int = 0
    # When the present period began, in seconds since 1970; None if the session is not renewed.
    period_began: float | None = None
    # The sessions above this one, by name, the nearest first. They have only total, used and reserved.
    above: tuple[tuple[str, Account], ...] = ()

    @property
    def total(self) -> int | None:
        return self.settings.total

    @property
    def cap(self) -> int | None:
        """The total, if it refuses what goes beyond it."""
        return None if self.settings.modes == "soft" else self.settings.total

    @property
    def own_remaining(self) -> int | None:
        """What the session's own total still allows; None if it allows everything."""
        return None if self.cap is None else max(self.cap - self.used - self.reserved, 0)

    @property
    def remaining(self) -> int | None:
        """What can still be granted, here and in every session above; None if there is no limit."""
        return self.tightest[1].own_remaining

    @property
    def tightest(self) -> tuple[str, Account]:
        """The account with the least left: this one, with an empty name, or one above, with its name."""
        limited = [pair for pair in (("", self), *self.above) if pair[1].cap is not None]
        return min(limited, key=lambda pair: pair[1].own_remaining or 0, default=("", self))

    @property
    def usage_fraction(self) -> float:
        """The used part of the total: above 1.0 if more was used, 0.0 without a total."""
        if self.total is None:
            return 0.0
        return self.used / self.total if self.total else 1.0

    def remaining_after(self, held: int, tokens: int) -> int | None:
        """What is left once a grant of `held` tokens is settled with `tokens`; None without a total."""
        left = [
            max(each.cap - each.used - each.reserved + held - tokens, 0)
            for each in self._chain()
            if each.cap is not None
        ]
        return min(left, default=None)

    def mode(self) -> ResponseMode:
        """Return the longest mode that an answer may have: the shortest of this session and those above."""
        return max((each._own_mode() for each in self._chain()), key=MODES.index)

    def most_for_one_answer(self, least_tokens: int) -> int | None:
        """Return what one answer may take, so that no mode is skipped; None if there is no limit."""
        limited = [each for each in self._chain() if each.cap is not None]
        return min((each._most_for_one_answer(least_tokens) for each in limited), default=None)

    def _chain(self) -> tuple[Account, ...]:
        return (self, *[account for _, account in self.above])

    def _own_mode(self) -> ResponseMode:
        """Return the longest mode by this session's own total: the less is left, the shorter.

        Reserved tokens do not count. At the borders: exactly 50 % left is `table`, exactly 20 % is
        `summary`, and exactly 5 % is still `summary`.
        """
        if self.total is None or self.settings.modes is not None:
            return ResponseMode.RAW
        left = max(self.total - self.used, 0)
        if 2 * left > self.total:
            return ResponseMode.RAW
        if 5 * left > self.total:
            return ResponseMode.TABLE
        if 20 * left >= self.total and left:
            return ResponseMode.SUMMARY
        return ResponseMode.HANDLE_ONLY

    def _most_for_one_answer(self, least_tokens: int) -> int:
        """Return what one answer may take by this session's own total.

        A raw answer leaves enough for a table, a table enough for a summary, and a summary enough for
        `least_tokens`, the least useful answer. Every answer gets as much as that, too.
        """
        assert self.total is not None, "the caller asks only accounts with a total"
        if self.settings.modes is not None:
            return max(self.total - self.used, least_tokens)
        for_later = {
            ResponseMode.RAW: max(self.total // 5 + 1, least_tokens),
            ResponseMode.TABLE: max(-(-self.total // 20), least_tokens),
            ResponseMode.SUMMARY: least_tokens,
            ResponseMode.HANDLE_ONLY: 0,
        }
        return max(self.total - self.used - for_later[self._own_mode()], least_tokens)


class Share(Record):
    """What one result may take of the window."""

    tokens: int
    # Less than the floor is left of the window, so the result gets the floor and compaction is advised.
    floor_decides: bool


def share_of(tokens: int, fraction: float) -> int:
    """Return a fraction of a window in whole tokens, rounded down.

    The fraction counts as written, to a millionth: 0.29 of 100 is 29, although 0.29 * 100 is less.
    """
    return tokens * round(fraction * 1_000_000) // 1_000_000


def result_share(window: Window, taken: int) -> Share:
    """Return max(floor, min(result_pct × window, what is left of it)); `taken` tokens are in it already."""
    left = max(window.tokens - taken, 0)
    most = min(share_of(window.tokens, window.result_pct), left)
    # A floor above the share of a window that has room does not mean that the window is full.
    is_full = left < window.floor_tokens
    return Share(max(window.floor_tokens, most), is_full and window.floor_tokens > most)


def offer(
    account: Account, requested: int | None, window: Window | None, turn_taken: int | None
) -> tuple[int | None, bool]:
    """Return the least of: the request, the result's share, and what turn and session have left.

    None means that nothing limits the result. The second value tells that the floor of the share decided.
    `requested` None asks for as much as possible. `turn_taken` is what the turn has used and reserved,
    None without a turn. The total and the turn win over the floor. Raise `BudgetExhausted` if nothing
    can be granted.
    """
    if requested is not None:
        requested = tokens_of(min(requested, MOST_TOKENS), "requested")
    if account.remaining == 0:
        raise BudgetExhausted(exhausted_message(account))
    limits = [limit for limit in (requested, account.remaining) if limit is not None]
    floor_decides = False
    if window is not None:
        share = result_share(window, account.window_used + account.reserved - account.reserved_below)
        if turn_taken is not None:
            turn_left = window.turn_tokens - turn_taken
            if turn_left <= 0:
                raise BudgetExhausted(
                    f"this turn has used its {window.turn_tokens} tokens of a window of {window.tokens};"
                    " continue in the next turn"
                )
            limits.append(turn_left)
        floor_decides = share.floor_decides and all(share.tokens <= limit for limit in limits)
        limits.append(share.tokens)
    least = min(limits, default=None)
    if least == 0 and requested != 0:
        raise BudgetExhausted(
            "the context window is full: compact it, then run tokcap budget compacted --used N"
        )
    return least, floor_decides


def exhausted_message(account: Account) -> str:
    """Return why nothing can be granted."""
    name, tightest = account.tightest
    whose = f"the budget of {name!r}" if name else "the budget"
    message = f"{whose} is exhausted: {tightest.used} of {tightest.total} tokens are used"
    if tightest.reserved:
        message += f", {tightest.reserved} are reserved by running commands"
    return message


def period_start(renew: str, now: float) -> float:
    """Return when the period that contains a time began, in seconds since 1970."""
    day = now // DAY_SECONDS
    if renew == "week":
        day -= (day + DAYS_SINCE_MONDAY) % 7
    if renew == "month":
        day -= time.gmtime(now).tm_mday - 1
    return day * DAY_SECONDS


def period_end(renew: str, now: float) -> float:
    """Return when the period that contains a time ends, which is when the next one begins."""
    return period_start(renew, period_start(renew, now) + DAYS_TO_NEXT[renew] * DAY_SECONDS)
