"""The state of a session: numbers for programs, lines for people."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.budget.arithmetic import Account, Settings

BAR_CHARACTERS = 30


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
    }


def account_text(name: str, account: Account) -> str:
    """Return an account for people, in a few lines."""
    lines = [f"{name}  {bar_of(account)}"]
    if account.reserved:
        lines.append(f"{account.reserved} reserved by commands that are still running")
    if account.settings.context_window is not None:
        lines.append(f"context window: {account.window_used} of {account.settings.context_window} tokens")
    if account.total is not None:
        lines.append(f"answers are shown as {account.mode()}")
    return "\n".join(lines) + "\n"


def bar_of(account: Account) -> str:
    """Return `[######....] 6000 of 10000 tokens used, 4000 left`."""
    if account.total is None:
        return f"{account.used} tokens used, no limit"
    filled = min(round(account.usage_fraction * BAR_CHARACTERS), BAR_CHARACTERS)
    bar = "#" * filled + "." * (BAR_CHARACTERS - filled)
    return f"[{bar}] {account.used} of {account.total} tokens used, {account.remaining} left"
