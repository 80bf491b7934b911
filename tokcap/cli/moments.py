"""Write a time for people. A clock that is far from the truth gives the last day that can be written."""

from __future__ import annotations

import time

# The last but one day of the year 9999: every time zone can write it.
LAST_SECONDS = 253_402_128_000


def local_time(seconds: float, form: str) -> str:
    return time.strftime(form, time.localtime(min(seconds, LAST_SECONDS)))


def utc_time(seconds: float, form: str) -> str:
    return time.strftime(form, time.gmtime(min(seconds, LAST_SECONDS)))
