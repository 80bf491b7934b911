"""`tokcap budget status|record|check|turn|compacted`: what agents and loops call.

Below that, for all of `tokcap budget`: which session is meant, and its state as numbers and text.
"""

from __future__ import annotations

import os

from tokcap import exits
from tokcap.budget import open_ledger
from tokcap.budget.arithmetic import exhausted_message, period_end
from tokcap.budget.base import SESSION_VARIABLE, not_started, session_name, shown_session
from tokcap.cli.arguments import read_value
from tokcap.cli.description import Argument, Command
from tokcap.cli.kinds import Choice, LineOfText, WholeNumber
from tokcap.cli.options import BY_KEY, own_option, row_like
from tokcap.cli.reply import Reply, with_ledger
from tokcap.core.units import utc_time
from tokcap.errors import NotFound, SessionNotStarted, UsageError
from tokcap.outputs import LEAST_TOKENS
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from tokcap.budget.arithmetic import Account, Settings
    from tokcap.budget.base import Session
    from tokcap.budget.ledger import SessionView
    from tokcap.cli.options import Option
    from tokcap.core.response import Notice
    from tokcap.environment import Environment

    Found = TypeVar("Found")

NAME = Argument("NAME", "the session; default: TOKCAP_SESSION", required=False, names="sessions")
SESSION = row_like("session", "the session; default: TOKCAP_SESSION")
LEDGER = row_like("ledger", "the server that keeps sessions; default: TOKCAP_LEDGER, or config.toml")
OUTPUT = row_like("output")
# For a command whose --output is a number of tokens: then the format has only its letter.
FORM = OUTPUT.replace(key="form", has_name=False)
NO_SESSION = "Exit status 1: there is no such session."
BAR_CHARACTERS = 30


def call(
    step: Callable[..., int],
    summary: str,
    *options: Option,
    form: Option = OUTPUT,
    arguments: tuple[Argument, ...] = (NAME,),
    details: str = "",
    epilog: str = "",
) -> Command:
    """Describe a command that takes a step in a session: with the session, the reply, and its own options."""

    def handler(
        env: Environment,
        name: str | None = None,
        session: str | None = None,
        ledger: str | None = None,
        **given: object,
    ) -> int:
        env = with_ledger(env, ledger)
        reply = Reply(env, given.pop(form.key, None))  # type: ignore[arg-type]  # a choice is a word
        return step(named(name, session, env), reply, **given)

    return Command(
        path=("budget", step.__name__),
        summary=summary,
        details=details,
        arguments=arguments,
        options=(*options, SESSION, LEDGER, form),
        epilog=epilog,
        handler=handler,
    )


def status(meant: Meant, reply: Reply) -> int:
    return tell(meant.name, meant.do(meant.view(reply.env).read), reply)


def record(
    meant: Meant,
    reply: Reply,
    input: int = 0,  # noqa: A002  # as the option is named
    output: int = 0,
    id: str | None = None,  # noqa: A002  # as above
) -> int:
    recorded = meant.do(lambda: meant.view(reply.env).record(input, output, id))
    account = recorded.account
    notices = exhausted_notice(account)
    if reply.is_text:
        counted = "" if recorded.counted else f"{id!r} was counted before\n"
        written = reply.say(counted + account_text(meant.name, account))
        for notice in notices:
            reply.env.tell(f"warning: {notice.message}")
        return written
    data = {"session": meant.name, "counted": recorded.counted, **account_numbers(account)}
    return reply.give(data, notices, truncated=True if notices else None)


def check(meant: Meant, reply: Reply, need: int = LEAST_TOKENS) -> int:
    account = meant.do(meant.view(reply.env).read)
    is_enough = account.remaining is None or account.remaining >= need
    found = exits.OK if is_enough else exits.NO
    if reply.is_text:
        return found
    return reply.give({"session": meant.name, "ok": is_enough, **account_numbers(account)}, status=found)


def turn(
    meant: Meant,
    reply: Reply,
    id: str | None = None,  # noqa: A002  # as the argument is named
    shell: str = "sh",
) -> int:
    view = meant.view(reply.env)
    meant.do(view.read)
    identifier = id or new_name("t")
    # Refuse what --turn would refuse later.
    read_value(BY_KEY["turn"].kind, identifier, "turn")
    view.turn(identifier)
    if reply.is_text:
        return reply.say(exported("TOKCAP_TURN", identifier, shell))
    return reply.give({"session": meant.name, "turn": identifier})


def compacted(meant: Meant, reply: Reply, used: int | None = None) -> int:
    if used is None:
        raise UsageError("--used is missing: tokens that the context holds now")
    return tell(meant.name, meant.do(lambda: meant.view(reply.env).compacted(used)), reply)


STATUS = call(
    status,
    "Show the state of a session: tokens used, reserved and left, and the mode of the next answer.",
    epilog=NO_SESSION,
)
RECORD = call(
    record,
    "Add tokens that the caller's own model used.",
    own_option("input", WholeNumber(0), "tokens the model read", default="0"),
    own_option("output", WholeNumber(0), "tokens the model wrote", default="0"),
    own_option("id", LineOfText(), "record the tokens only once for this ID", "ID"),
    form=FORM,
    details="Tokens above the total are recorded too; then the next run is refused.",
    epilog=f"Example: tokcap budget record --input 1200 --output 300 --id turn-7. {NO_SESSION}",
)
CHECK = call(
    check,
    "Check whether enough is left: exit status 0 if so, 1 if not. Prints nothing.",
    own_option(
        "need",
        WholeNumber(1),
        "tokens that must be left; use 150 for runs with -o json",
        default=str(LEAST_TOKENS),
    ),
    epilog="Example: tokcap budget check --need 500 || exit.",
)
TURN = call(
    turn,
    "Begin a turn and print the line to evaluate.",
    own_option("shell", Choice(("sh", "fish")), "the shell that evaluates the line", default="sh"),
    arguments=(Argument("ID", "a name for the turn; default: a new one", required=False),),
    details="The results of a turn together may take --turn-pct of the context window.",
    epilog=f'Example: eval "$(tokcap budget turn)". {NO_SESSION}',
)
COMPACTED = call(
    compacted,
    "Record that the model's context was compacted.",
    own_option("used", WholeNumber(0), "tokens that the context holds now; required"),
    details="What the session has used of its total stays used.",
    epilog=f"Example: tokcap budget compacted --used 4000. {NO_SESSION}",
)


def statusline(
    env: Environment, name: str | None = None, session: str | None = None, ledger: str | None = None
) -> int:
    """Print a line about a session: that of the call, or that of the agent that writes JSON to stdin."""
    from tokcap.usage.report import saved_in

    env = with_ledger(env, ledger)
    given = event_on_stdin(env)
    meant = name_of(name, session or str(given.get("session_id") or "") or None, env)
    if meant is None:
        raise UsageError("no session was given: name one, or give it the JSON of an agent on standard input")
    view = meant.view(env)
    try:
        account = view.read()
        if given.get("transcript_path"):
            from tokcap.hooks import AGENTS
            from tokcap.hooks.agent_session import charge_model

            account = charge_model(AGENTS["claude-code"], str(given["transcript_path"]), view) or account
    except SessionNotStarted:
        return Reply(env, "text").say("nothing used yet\n")
    used = f"{account.used} tokens used"
    if account.total is not None:
        used = f"{account.used} of {account.total} tokens used, {max(account.total - account.used, 0)} left"
    return Reply(env, "text").say(f"{used}, {saved_in(meant.name, env)} saved\n")


def event_on_stdin(env: Environment) -> dict[str, object]:
    """Return the JSON object on standard input; an empty one if it has none, or is a terminal."""
    from tokcap.startup.plainjson import loads

    if env.is_terminal(env.stdin):
        return {}
    try:
        with open(env.stdin, "rb", buffering=0, closefd=False) as stdin:
            found = loads(stdin.read().decode())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


STATUSLINE = Command(
    path=("budget", "statusline"),
    summary="Print one line for the status line of an agent: tokens used, left and saved.",
    details="Claude Code writes session and transcript to standard input; for others, name the session.",
    arguments=(NAME,),
    options=(SESSION, LEDGER),
    epilog='Example: "statusLine": {"type": "command", "command": "tokcap budget statusline"}',
    handler=statusline,
)


def tell(name: str, account: Account, reply: Reply, text: str = "") -> int:
    """Report the state of a session; `text` replaces what people are told."""
    if reply.is_text:
        return reply.say(text or account_text(name, account))
    return reply.give({"session": name, **account_numbers(account)})


def exhausted_notice(account: Account) -> tuple[Notice, ...]:
    """Return the warning that the total is used up, if it is."""
    tightest = account.tightest[1]
    if tightest.cap is None or tightest.used < tightest.cap:
        return ()
    from tokcap.core.response import Notice

    return (Notice("BUDGET_EXHAUSTED", f"{exhausted_message(account)}; the next run is refused"),)


class Meant(Record):
    """The session that a call means, which may not have been started."""

    name: str
    # The variable that named it; empty if the call itself did.
    variable: str

    def view(self, env: Environment) -> SessionView:
        return open_ledger(env).session(self.name)

    def do(self, step: Callable[[], Found]) -> Found:
        """Do one step in the session. If it has not been started, that is an answer: exit status 1."""
        try:
            return step()
        except SessionNotStarted:
            raise NotFound(str(not_started(self.name, self.variable))) from None

    def stop(self, step: Callable[[], Found]) -> Found:
        """Do one step after which the session is another one, or none. Nobody wants to start it for that."""
        try:
            return step()
        except SessionNotStarted:
            shown = shown_session(self.name, self.variable)
            raise NotFound(f"there is no {shown}; list them: tokcap budget list") from None


def named(name: str | None, session: str | None, env: Environment) -> Meant:
    """Return the session that is meant: from the argument, the option or the variable."""
    meant = name_of(name, session, env)
    if meant is None:
        raise UsageError("no session was given: name one, or set TOKCAP_SESSION")
    return meant


def name_of(name: str | None, session: str | None, env: Environment) -> Meant | None:
    """Return the session that is meant; None if nothing names one. An empty variable names none."""
    given = name if name is not None else session
    if given is not None:
        return Meant(session_name(given), "")
    by_variable = env.variables.get(SESSION_VARIABLE)
    if not by_variable:
        return None
    return Meant(session_name(by_variable, SESSION_VARIABLE), SESSION_VARIABLE)


def new_name(letter: str) -> str:
    """Return a random name."""
    return letter + os.urandom(4).hex()


def exported(variable: str, value: str, shell: str) -> str:
    """Return the line that sets a variable, for `eval`."""
    if shell == "fish":
        inside = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"set -gx {variable} " + (value if value.isalnum() else f"'{inside}'") + "\n"
    return f"export {variable}={quoted(value)}\n"


def settings_numbers(settings: Settings) -> dict[str, object]:
    """Return the settings that were given when the session was started."""
    return {name: value for name, value in vars(settings).items() if value is not None}


def account_numbers(account: Account) -> dict[str, object]:
    """Return an account for programs. `remaining` and `total` are null if there is no limit."""
    rest = {name: value for name, value in settings_numbers(account.settings).items() if name != "total"}
    above = [{"session": name, **state_numbers(each)} for name, each in account.above]
    return {
        **state_numbers(account),
        "window_used": account.window_used,
        **rest,
        **period_numbers(account),
        **({"above": above} if above else {}),
    }


def state_numbers(account: Account) -> dict[str, object]:
    """Return the state of a session, as it and the sessions below it see it."""
    return {
        "used": account.used,
        "reserved": account.reserved,
        "remaining": account.remaining,
        "total": account.total,
        "usage_fraction": account.usage_fraction,
        "mode": str(account.mode()),
    }


def period_numbers(account: Account) -> dict[str, object]:
    """Return when the present period began, and when it ends; nothing if the session is not renewed."""
    if account.settings.renew is None or account.period_began is None:
        return {}
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


def account_text(name: str, account: Account) -> str:
    """Return an account for people, in a few lines."""
    lines = [f"{name}  {bar_of(account)}"]
    lines += [f"part of {above}  {bar_of(numbers)}" for above, numbers in account.above]
    if account.reserved:
        lines.append(f"{account.reserved} reserved by commands that are still running")
    if account.settings.context_window is not None:
        lines.append(f"context window: {account.window_used} of {account.settings.context_window} tokens")
    if (period := period_numbers(account)) and account.settings.renew:
        ends = utc_time(int(str(period["period_ends"])), "%Y-%m-%d %H:%M UTC")
        lines.append(f"the next {account.settings.renew} begins {ends}")
    if account.remaining is not None:
        lines.append(f"answers are shown as {account.mode()}")
    return "".join(f"{line}\n" for line in lines)


def bar_of(account: Account) -> str:
    """Return `[######....] 6000 of 10000 tokens used, 4000 left`."""
    if account.total is None:
        return f"{account.used} tokens used, no limit"
    filled = min(round(account.usage_fraction * BAR_CHARACTERS), BAR_CHARACTERS)
    bar = "#" * filled + "." * (BAR_CHARACTERS - filled)
    left = max(account.total - account.used - account.reserved, 0)
    return f"[{bar}] {account.used} of {account.total} tokens used, {left} left"
