"""The settings of a server, which no call can exceed, and what one call may use of them."""

from __future__ import annotations

from tokcap.api.charged_session import Hold
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from tokcap.api.charged_session import ChargedSession

# The limit of one result, unless the user sets another.
DEFAULT_LIMIT_TOKENS = 4000
# Which part of a large output is shown, unless a call or the user says otherwise.
DEFAULT_KEEP = "auto"


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
    session: ChargedSession | None = None

    def hold(self, requested: int | None = None) -> Hold:
        """Return what one result may use; raise `BudgetExhausted` if that is nothing."""
        limit = self.limit_tokens if requested is None else min(requested, self.limit_tokens)
        return self.session.hold(limit) if self.session else Hold(limit)

    def filter_options(self) -> dict[str, object]:
        """Return how every output of a command is filtered and stored."""
        return {"clean": self.clean, "redact": self.redact, "max_bytes": self.max_bytes}
