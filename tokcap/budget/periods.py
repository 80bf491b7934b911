"""The periods of sessions that are renewed: when one begins and ends, in UTC, from a number of seconds alone.

All ledgers follow the same calendar: a day begins at 00:00 UTC, a week on Monday, a month on its first day.
"""

from __future__ import annotations

import time

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

DAY_SECONDS = 86_400
# 1970-01-01 was a Thursday.
DAYS_SINCE_MONDAY = 3
# From the first day of a month, more days than it has and less than two months have.
INTO_NEXT_MONTH_DAYS = 32


def day_start(now: float) -> float:
    return now // DAY_SECONDS * DAY_SECONDS


def week_start(now: float) -> float:
    days = now // DAY_SECONDS
    return (days - (days + DAYS_SINCE_MONDAY) % 7) * DAY_SECONDS


def month_start(now: float) -> float:
    return day_start(now) - (time.gmtime(now).tm_mday - 1) * DAY_SECONDS


STARTS: dict[str, Callable[[float], float]] = {"day": day_start, "week": week_start, "month": month_start}
LONGER_THAN_ONE_DAYS = {"day": 1, "week": 7, "month": INTO_NEXT_MONTH_DAYS}


def period_start(renew: str, now: float) -> float:
    """Return when the period that contains a time began, in seconds since 1970."""
    return STARTS[renew](now)


def period_end(renew: str, now: float) -> float:
    """Return when the period that contains a time ends, which is when the next one begins."""
    start = period_start(renew, now)
    return period_start(renew, start + LONGER_THAN_ONE_DAYS[renew] * DAY_SECONDS)
