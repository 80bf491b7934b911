"""The state of a session: numbers for programs, lines for people."""

from __future__ import annotations

from tokcap.core.units import printable
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.budget.arithmetic import Account, Settings
    from tokcap.budget.reports import Session
    from tokcap.system.screen import Screen

BAR_CHARACTERS = 30
LEAST_BAR_CHARACTERS = 4


def settings_numbers(settings: Settings) -> dict[str, object]:
    """Return the settings that were given when the session was started."""
    return {name: value for name, value in vars(settings).items() if value is not None}


def account_numbers(account: Account) -> dict[str, object]:
    """Return an account for programs. `remaining` and `total` are null if there is no limit."""
    rest = {name: value for name, value in settings_numbers(account.settings).items() if name != "total"}
    return {
        "used": account.used,
        "reserved": account.reserved,
        "remaining": account.remaining,
        "total": account.total,
        "usage_fraction": account.usage_fraction,
        "mode": str(account.mode()),
        "window_used": account.window_used,
        **rest,
        **period_numbers(account),
        **({"above": [above_numbers(*each) for each in account.above]} if account.above else {}),
    }


def above_numbers(name: str, account: Account) -> dict[str, object]:
    """Return what a session sees of one that it is a part of."""
    return {
        "session": name,
        "used": account.used,
        "reserved": account.reserved,
        "remaining": account.remaining,
        "total": account.total,
        "mode": str(account.mode()),
    }


def period_numbers(account: Account) -> dict[str, object]:
    """Return when the present period began, and when it ends; nothing if the session is not renewed."""
    if account.settings.renew is None or account.period_began is None:
        return {}
    from tokcap.budget.periods import period_end

    ends = period_end(account.settings.renew, account.period_began)
    return {"period_began": int(account.period_began), "period_ends": int(ends)}


def in_tree_order(sessions: Sequence[Session]) -> list[tuple[int, Session]]:
    """Return sessions with their depth, each after the one that it is a part of."""
    below: dict[str, list[Session]] = {}
    names = {each.name for each in sessions}
    for each in sessions:
        parent = each.account.settings.parent or ""
        below.setdefault(parent if parent in names else "", []).append(each)
    found: list[tuple[int, Session]] = []

    def add(parent: str, depth: int) -> None:
        for each in below.get(parent, ()):
            found.append((depth, each))
            add(each.name, depth + 1)

    add("", 0)
    return found


def account_text(name: str, account: Account, screen: Screen) -> str:
    """Return an account for people, in a few lines."""
    line = f"{name}  {bar_of(account)}"
    lines = [line] if screen.fits([line]) else [name, f"  {narrow_bar_of(account, screen.columns - 2)}"]
    for above, numbers in account.above:
        line = f"part of {above}  {bar_of(numbers)}"
        narrow = [f"part of {above}", f"  {narrow_bar_of(numbers, screen.columns - 2)}"]
        lines += [line] if screen.fits([line]) else narrow
    if account.reserved:
        lines.append(f"{account.reserved} reserved by commands that are still running")
    if account.settings.context_window is not None:
        lines.append(f"context window: {account.window_used} of {account.settings.context_window} tokens")
    if (period := period_numbers(account)) and account.settings.renew:
        from tokcap.cli.moments import utc_time

        ends = utc_time(int(str(period["period_ends"])), "%Y-%m-%d %H:%M UTC")
        lines.append(f"the next {account.settings.renew} begins {ends}")
    if account.remaining is not None:
        lines.append(f"answers are shown as {account.mode()}")
    return "".join(f"{part}\n" for line in lines for part in screen.wrapped(line))


def sessions_text(rows: Sequence[tuple[str, str, Account]], screen: Screen) -> str:
    """Return sessions for people: name, start and bar of each. On a narrow screen the bar is below."""
    width = max(len(name) for name, _, _ in rows)
    lines = [f"{name.ljust(width)}  {started}  {bar_of(account)}" for name, started, account in rows]
    if not screen.fits(lines):
        lines = []
        for name, started, account in rows:
            room = screen.columns - len(started) - 2
            lines.append(f"{printable(name, room).ljust(min(width, room))}  {started}")
            lines.append(f"  {narrow_bar_of(account, screen.columns - 2)}")
    return "".join(f"{line}\n" for line in lines)


def bar_of(account: Account) -> str:
    """Return `[######....] 6000 of 10000 tokens used, 4000 left`."""
    if account.total is None:
        return f"{account.used} tokens used, no limit"
    words = f"{account.used} of {account.total} tokens used, {account.own_remaining} left"
    return f"{bar(account, BAR_CHARACTERS)} {words}"


def narrow_bar_of(account: Account, columns: int) -> str:
    """Return the same in fewer characters: a shorter bar, or none."""
    if account.total is None:
        return bar_of(account)
    words = f"{account.used} of {account.total}, {account.own_remaining} left"
    room = min(columns - len(words) - 3, BAR_CHARACTERS)
    return f"{bar(account, room)} {words}" if room >= LEAST_BAR_CHARACTERS else words


def bar(account: Account, characters: int) -> str:
    filled = min(round(account.usage_fraction * characters), characters)
    return "[" + "#" * filled + "." * (characters - filled) + "]"
