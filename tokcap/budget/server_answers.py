"""The texts that steps on a server take and answer with, and the records that they mean."""

from __future__ import annotations

from tokcap.budget.arithmetic import Account, Settings
from tokcap.errors import BadNumber, LedgerError
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.budget.arithmetic import Window

MILLION = 1_000_000
# How many texts an account has; those above it follow, with fewer texts each.
ACCOUNT_TEXTS, ABOVE_TEXTS = 12, 4
# How many texts a row of each list has.
HOLDING_TEXTS, PAST_TEXTS = 5, 6
# Settings by their texts. A process that takes many steps meets the same ones again and again.
_known: dict[tuple[str, ...], Settings] = {}
MOST_KNOWN = 100


def account_of(texts: Sequence[str]) -> Account:
    """Return the account that an answer ends with; raise `LedgerError` if it cannot be one."""
    try:
        *given, used, reserved, window_used, below, parent, renew, period_ms = texts[:ACCOUNT_TEXTS]
        settings = settings_of(*given, parent, renew)
        numbers = int(used), int(reserved), int(window_used), int(below or 0)
        if min(numbers) < 0:
            raise ValueError
        above = [
            (name, Account(Settings(number_of(total)).checked(), int(used), int(reserved)))
            for name, total, used, reserved in rows_of(texts[ACCOUNT_TEXTS:], ABOVE_TEXTS)
        ]
        period_began = int(period_ms) / 1000 if period_ms else None
    except (ValueError, BadNumber):
        raise LedgerError(
            "the ledger is damaged: a session has invalid numbers; end it, and start it again"
        ) from None
    return Account(settings, *numbers, period_began, tuple(above))


def settings_of(*texts: str) -> Settings:
    """Return settings; raise an error if they cannot be some."""
    found = _known.get(texts)
    if found is None:
        total, window, result_pct, turn_pct, floor, parent, renew = texts
        found = Settings(
            total=number_of(total),
            context_window=number_of(window),
            result_pct=float(result_pct) if result_pct else None,
            turn_pct=float(turn_pct) if turn_pct else None,
            floor_tokens=number_of(floor),
            parent=parent or None,
            renew=renew or None,
        ).checked()
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        _known[texts] = found
    return found


def rows_of(texts: Sequence[str], each: int) -> list[Sequence[str]]:
    """Return the rows of a list that an answer has as one sequence."""
    return [texts[place : place + each] for place in range(0, len(texts), each)]


def number_of(text: str) -> int | None:
    return int(text) if text else None


def millionths(fraction: float) -> int:
    """Return a fraction as the servers calculate with it: see `arithmetic.share_of`."""
    return round(fraction * MILLION)


def window_words(window: Window | None) -> tuple[int | None, ...]:
    if window is None:
        return (None,) * 4
    return window.tokens, millionths(window.result_pct), millionths(window.turn_pct), window.floor_tokens
