"""`tokcap budget …`: start, show and settle sessions, for people, loops and agents.

Agents call most of these in loops, so libraries are imported where they are needed.
"""

from __future__ import annotations

from tokcap import exits
from tokcap.budget.arithmetic import RENEWALS
from tokcap.cli.commands.budget_lists import (
    LEDGER,
    NAME,
    NO_SESSION,
    SESSION,
    history,
    list_sessions,
    watch,
)
from tokcap.cli.description import OUTPUT, Argument, Flag, Group, command, flag_like
from tokcap.cli.kinds import Choice, LineOfText, Switch, WholeNumber
from tokcap.cli.ledger import with_ledger
from tokcap.cli.reply import Reply
from tokcap.cli.sessions import exported, name_of, named, new_name
from tokcap.forms import LEAST_TOKENS
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.budget.arithmetic import Account
    from tokcap.cli.sessions import Shell
    from tokcap.core.notice import Notice
    from tokcap.core.request import Output
    from tokcap.environment import Environment

GROUP = Group("budget", "Manage sessions: token budgets that many processes share.")

NEW_NAME = NAME.but(help="the session; default: TOKCAP_SESSION, or a random name")
SHELL = Flag(("--shell",), "the shell that evaluates the line", Choice(("sh", "fish")), "", "sh", "sh")


@command(
    "budget",
    "start",
    arguments=(NEW_NAME,),
    flags=(
        Flag(("--total",), "the budget in tokens; without it nothing is refused", WholeNumber(1), "N"),
        Flag(
            ("--parent",),
            "the session that this one is a part of: what it uses counts there too",
            LineOfText(),
            "NAME",
            names="sessions",
        ),
        Flag(("--renew",), "begin at 0 again in every period, by the clock in UTC", Choice(RENEWALS)),
        flag_like("context_window", "size of the model's context window in tokens"),
        flag_like("model", "the model that reads the output; sets the context window"),
        flag_like("result_pct", "part of the window for one result"),
        flag_like("turn_pct", "part of the window for one turn"),
        flag_like("floor_tokens", "tokens that one result may take even if the window is full"),
        SHELL,
        SESSION,
        LEDGER,
        OUTPUT,
    ),
    examples=(
        ("tokcap budget start review --total 100000", "print the line to eval: export TOKCAP_SESSION=review"),
        ("tokcap budget start ann --parent team --total 50000", "a share of the budget of the session team"),
        ("tokcap budget start ci --total 1M --renew day", "a million tokens every day"),
    ),
    danger="writes",
)
def start(
    env: Environment,
    *,
    name: str | None,
    session: str | None,
    ledger: str | None,
    total: int | None,
    parent: str | None,
    renew: str | None,
    context_window: int | None,
    model: str | None,
    result_pct: float | None,
    turn_pct: float | None,
    floor_tokens: int | None,
    shell: Shell,
    output: Output | None,
) -> int:
    """Start a session and print the line to evaluate. If it already runs with these settings, nothing
    changes.
    """
    from tokcap.budget import open_ledger
    from tokcap.budget.arithmetic import Settings

    env = with_ledger(env, ledger)
    reply = Reply(env, output)
    meant = name_of(name, session, env)
    name = meant.name if meant else new_name("s")
    model = model or env.variables.get("TOKCAP_MODEL", "")
    if context_window is None and model:
        from tokcap.cli.values import config_of
        from tokcap.tokens.models import find_model

        context_window = find_model(model, config_of(env).models).context_window
    settings = Settings(total, context_window, result_pct, turn_pct, floor_tokens, parent or None, renew)
    started = open_ledger(env).start(name, settings)
    if reply.is_text:
        return reply.say(exported("TOKCAP_SESSION", name, shell))
    from tokcap.cli.session_status import settings_numbers

    return reply.give({"session": name, "started": started, **settings_numbers(settings)})


@command(
    "budget",
    "status",
    arguments=(NAME,),
    flags=(SESSION, LEDGER, OUTPUT),
    examples=(("tokcap budget status review", "a bar, what is left, and the mode of the next answer"),),
    no=NO_SESSION,
    quick=True,
)
def status(
    env: Environment, *, name: str | None, session: str | None, ledger: str | None, output: Output | None
) -> int:
    """Show the state of a session: tokens used, reserved and left, and the mode of the next answer."""
    env = with_ledger(env, ledger)
    reply = Reply(env, output)
    meant = named(name, session, env)
    return tell(meant.name, meant.do(meant.view(env).read), reply)


@command(
    "budget",
    "record",
    arguments=(NAME,),
    flags=(
        Flag(("--input",), "tokens the model read", WholeNumber(0), "N", 0, "0", passed_as="input_tokens"),
        Flag(
            ("--output",),
            "tokens the model wrote",
            WholeNumber(0),
            "N",
            0,
            "0",
            passed_as="output_tokens",
        ),
        Flag(("--id",), "record the tokens only once for this ID", LineOfText(), "TEXT", passed_as="key"),
        SESSION,
        LEDGER,
        # Here --output is a number of tokens, so the format has only its letter.
        OUTPUT.but(spellings=("-o",), metavar="", shown_default="", passed_as="output"),
    ),
    examples=(
        ("tokcap budget record --input 1200 --output 300 --id turn-7", "count a turn of the model, once"),
    ),
    danger="writes",
    no=NO_SESSION,
    quick=True,
)
def record(
    env: Environment,
    *,
    name: str | None,
    input_tokens: int,
    output_tokens: int,
    key: str | None,
    session: str | None,
    ledger: str | None,
    output: Output | None,
) -> int:
    """Add tokens that the caller's own model used. Tokens above the total are recorded too; then the next run
    is refused.
    """
    from tokcap.cli.session_status import account_numbers, account_text

    env = with_ledger(env, ledger)
    reply = Reply(env, output)
    meant = named(name, session, env)
    recorded = meant.do(lambda: meant.view(env).record(input_tokens, output_tokens, key))
    account = recorded.account
    notices = exhausted_notice(account)
    if reply.is_text:
        from tokcap.system.screen import screen_of

        counted = "" if recorded.counted else f"{key!r} was counted before\n"
        status = reply.say(counted + account_text(meant.name, account, screen_of(env, env.stdout)))
        for notice in notices:
            env.tell(f"warning: {notice.message}")
        return status
    data = {"session": meant.name, "counted": recorded.counted, **account_numbers(account)}
    return reply.give(data, notices, truncated=True if notices else None)


@command(
    "budget",
    "check",
    arguments=(NAME,),
    flags=(
        Flag(
            ("--need",),
            "tokens that must be left; use 150 for runs with -o json",
            WholeNumber(1),
            "N",
            LEAST_TOKENS,
            str(LEAST_TOKENS),
        ),
        SESSION,
        LEDGER,
        OUTPUT,
    ),
    examples=(("tokcap budget check --need 500 || exit", "stop a loop that cannot afford its next step"),),
    no="not enough is left, or there is no such session",
    quick=True,
)
def check(
    env: Environment,
    *,
    name: str | None,
    need: int,
    session: str | None,
    ledger: str | None,
    output: Output | None,
) -> int:
    """Check whether enough is left: exit status 0 if so, 1 if not. Prints nothing; made for loops."""
    env = with_ledger(env, ledger)
    reply = Reply(env, output)
    meant = named(name, session, env)
    account = meant.do(meant.view(env).read)
    is_enough = account.remaining is None or account.remaining >= need
    status = exits.OK if is_enough else exits.NO
    if reply.is_text:
        return status
    from tokcap.cli.session_status import account_numbers

    return reply.give({"session": meant.name, "ok": is_enough, **account_numbers(account)}, status=status)


@command(
    "budget",
    "turn",
    arguments=(
        Argument("ID", "a name for the turn; default: a new one", required=False, passed_as="identifier"),
    ),
    flags=(SHELL, SESSION, LEDGER, OUTPUT),
    examples=(('eval "$(tokcap budget turn)"', "begin a turn in this shell"),),
    danger="writes",
    no=NO_SESSION,
    quick=True,
)
def turn(
    env: Environment,
    *,
    identifier: str | None,
    shell: Shell,
    session: str | None,
    ledger: str | None,
    output: Output | None,
) -> int:
    """Begin a turn and print the line to evaluate. The results of a turn together may take --turn-pct of the
    context window.
    """
    from tokcap.cli.options import BY_KEY
    from tokcap.cli.values import read_value

    env = with_ledger(env, ledger)
    reply = Reply(env, output)
    meant = named(None, session, env)
    storage = meant.view(env)
    meant.do(storage.read)
    identifier = identifier or new_name("t")
    # Refuse what --turn would refuse later.
    read_value(BY_KEY["turn"].kind, identifier, "turn")
    storage.turn(identifier)
    if reply.is_text:
        return reply.say(exported("TOKCAP_TURN", identifier, shell))
    return reply.give({"session": meant.name, "turn": identifier})


@command(
    "budget",
    "compacted",
    arguments=(NAME,),
    flags=(
        Flag(("--used",), "tokens that the context holds now", WholeNumber(0), "N", required=True),
        SESSION,
        LEDGER,
        OUTPUT,
    ),
    examples=(("tokcap budget compacted --used 4000", "the context now holds 4,000 tokens"),),
    danger="writes",
    no=NO_SESSION,
    quick=True,
)
def compacted(
    env: Environment,
    *,
    name: str | None,
    used: int,
    session: str | None,
    ledger: str | None,
    output: Output | None,
) -> int:
    """Record that the model's context was compacted. What the session has used of its total stays used."""
    env = with_ledger(env, ledger)
    reply = Reply(env, output)
    meant = named(name, session, env)
    return tell(meant.name, meant.do(lambda: meant.view(env).compacted(used)), reply)


@command(
    "budget",
    "reset",
    arguments=(NAME,),
    flags=(SESSION, LEDGER, OUTPUT),
    examples=(("tokcap budget reset review", "start again with the same total"),),
    danger="destructive",
    no=NO_SESSION,
)
def reset(
    env: Environment, *, name: str | None, session: str | None, ledger: str | None, output: Output | None
) -> int:
    """Set the used and reserved tokens of a session to 0; its settings stay. Sessions above and below it keep
    their numbers.
    """
    from tokcap.budget import open_ledger

    env = with_ledger(env, ledger)
    reply = Reply(env, output)
    meant = named(name, session, env)
    return tell(meant.name, meant.stop(lambda: open_ledger(env).reset(meant.name)), reply)


@command(
    "budget",
    "end",
    arguments=(NAME,),
    flags=(Flag(("--tree",), "also end the sessions below it", Switch(), "", False), SESSION, LEDGER, OUTPUT),
    examples=(
        ("tokcap budget end review", "end the session review"),
        ("tokcap budget end team --tree", "end the session team and all that are a part of it"),
    ),
    danger="destructive",
    no=NO_SESSION,
)
def end(
    env: Environment,
    *,
    name: str | None,
    tree: bool,
    session: str | None,
    ledger: str | None,
    output: Output | None,
) -> int:
    """End a session. It can no longer be charged; tokcap budget history still shows it. What it has used
    stays used in the sessions that it was a part of.
    """
    from tokcap.budget import open_ledger

    env = with_ledger(env, ledger)
    reply = Reply(env, output)
    meant = named(name, session, env)
    account = meant.stop(lambda: open_ledger(env).end(meant.name, tree=tree))
    return tell(meant.name, account, reply, f"ended {meant.name}: {account.used} tokens were used\n")


COMMANDS = (start, status, list_sessions, history, watch, record, check, turn, compacted, reset, end)


def tell(name: str, account: Account, reply: Reply, text: str = "") -> int:
    """Report the state of a session; `text` replaces what people are told."""
    from tokcap.cli.session_status import account_numbers, account_text

    if reply.is_text:
        from tokcap.system.screen import screen_of

        return reply.say(text or account_text(name, account, screen_of(reply.env, reply.env.stdout)))
    return reply.give({"session": name, **account_numbers(account)})


def exhausted_notice(account: Account) -> tuple[Notice, ...]:
    """Return the warning that the total is used up, if it is."""
    name, tightest = account.tightest
    if tightest.total is None or tightest.used < tightest.total:
        return ()
    from tokcap.core.notice import Notice

    whose = f"the budget of {name!r}" if name else "the budget"
    words = f"{whose} is exhausted: {tightest.used} of {tightest.total} tokens are used"
    return (Notice("BUDGET_EXHAUSTED", f"{words}; the next run is refused"),)
