"""Open what a `show` needs: tokenizer, stored output, budget. Refuse bad calls here."""

from __future__ import annotations

from tokcap.core.notice import Notice
from tokcap.environment import PROGRAM
from tokcap.forms import FORMS
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.steps.opening import paying
from tokcap.steps.stored_input import open_part, save_findings
from tokcap.store import caller_of, open_store
from tokcap.tokens import open_tokenizer

if TYPE_CHECKING:
    from tokcap.core.request import ShowRequest
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment, Stopwatch, ToolNames
    from tokcap.steps.answer import Answer
    from tokcap.steps.charging import Charge
    from tokcap.steps.continuation import Continuation
    from tokcap.steps.inputs import StoredInput
    from tokcap.steps.opening import Closing, Payment
    from tokcap.store.base import StoredOutput


# The age of an output that was stored less than this ago is not worth a number.
JUST_NOW_SECONDS = 60
LONGEST_COMMAND_CHARACTERS = 60


class ShowCall(Record):
    """A call of `show`."""

    request: ShowRequest
    stopwatch: Stopwatch
    tokenizer: Tokenizer
    charge: Charge | None
    stored: StoredOutput
    given: StoredInput
    # The limit that the caller gave; None: that of the run applies, on the next page too.
    asked_limit: int | None = None
    tools: ToolNames | None = None
    program: str = PROGRAM

    @property
    def paying(self) -> Charge | None:
        return paying(self.charge)

    def continuation(self, *, needs_handle: bool) -> Continuation:
        """Return how the rest is fetched: from the stored output, which is named in any case."""
        from tokcap.steps.continuation import continuation_of
        from tokcap.store.base import Ticket

        stream, stored = self.request.stream, self.stored
        lost_bytes = {stream: stored.record.lost_bytes.get(stream, 0)}
        ticket = Ticket(stored.handle, stored.local_path(stream), stored.record.stored_bytes, lost_bytes)
        found = continuation_of(
            ticket,
            self.request,
            always=True,
            token_limit=self.asked_limit,
            tools=self.tools,
            program=self.program,
        )
        return found.but(stored_at=stored.record.stored_at) if is_relative(self.request.handle) else found

    @property
    def always_names_handle(self) -> bool:
        return True

    def save_findings(self, answer: Answer) -> None:
        """Store what was counted and found out, for the next page."""
        save_findings(self.stored, self.request, answer)


def open_show(asked: ShowRequest, env: Environment, closing: Closing, payment: Payment) -> ShowCall:
    """Open a stored output, and the part of it that was asked for."""
    stopwatch = env.stopwatch()
    tokenizer = open_tokenizer(asked.tokenizer, env)
    stored = closing.add(
        open_store(env, asked.store).open(asked.handle, asked.stream, caller_of(env, asked.session))
    )
    which: tuple[Notice, ...] = ()
    if is_relative(asked.handle) and env.is_terminal(env.stdout) and env.is_terminal(env.stderr):
        which = (which_output(stored, asked, env),)
    # The command in a mark names no limit, so the limit of the run applies.
    request = asked.but(token_limit=asked.token_limit or stored.record.token_limit)
    if env.outer_limit_tokens:
        # The tokcap that reads this answer would cut it again.
        request = request.but(
            token_limit=min(request.token_limit or env.outer_limit_tokens, env.outer_limit_tokens)
        )
    charge = payment.open(request, env)
    if charge:
        request = charge.adjusted(request)
    is_plain = not (FORMS[request.output].has_envelope or request.token_count)
    on_screen = is_plain and env.is_terminal(env.stdout)
    given = open_part(stored, request, tokenizer, closing, on_screen=on_screen)
    damage = tuple(Notice("STORE_DAMAGED", message) for message in stored.damage)
    given = given.but(notices=given.notices + (charge.notices if charge else ()) + damage + which)
    return ShowCall(
        request, stopwatch, tokenizer, charge, stored, given, asked.token_limit, env.tools, env.program
    )


def is_relative(name: str) -> bool:
    """Return whether a name means another output at another time: `@last`, `@last-2`."""
    from tokcap.store.handles import steps_back

    return steps_back(name) is not None


def which_output(stored: StoredOutput, asked: ShowRequest, env: Environment) -> Notice:
    """Return for a person at a terminal which output `@last` is, and how old."""
    from tokcap.core.units import age_of, printable

    record = stored.record
    command = f": {printable(' '.join(record.command), LONGEST_COMMAND_CHARACTERS)}" if record.command else ""
    seconds = env.now() - record.stored_at
    age = "just now" if seconds < JUST_NOW_SECONDS else f"{age_of(seconds)} ago"
    return Notice("LAST_OUTPUT", f"{asked.handle} is {stored.handle}, stored {age}{command}")
