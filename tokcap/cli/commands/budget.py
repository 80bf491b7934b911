"""`tokcap budget …`: sessions, started, looked at and settled, for people, loops and agents."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tokcap import exits
from tokcap.budget import open_ledger
from tokcap.budget.arithmetic import Settings
from tokcap.budget.base import SessionView, session_name
from tokcap.cli.arguments import config_values, read_value
from tokcap.cli.described import Lists, about
from tokcap.cli.options import BY_KEY
from tokcap.cli.responses import Output, Reply
from tokcap.cli.standing import account_numbers, bar_of, described, numbers
from tokcap.core.notice import Notice
from tokcap.errors import NotFound, SessionNotStarted, UsageError
from tokcap.system.shell import quoted
from tokcap.tokens.models import find_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcap.budget.arithmetic import Account
    from tokcap.environment import Environment

application = typer.Typer(help="Sessions: token budgets that many processes share.")

Shell = Annotated[Literal["sh", "fish"], typer.Option(help="the shell that evaluates the line")]
Session = Annotated[
    str, typer.Option("--session", help="the session; TOKCAP_SESSION if not given"), Lists("sessions")
]
Name = Annotated[str, typer.Argument(help="the session; TOKCAP_SESSION if not given"), Lists("sessions")]

NO_SESSION = "there is no such session"


@application.command("start")
@about(
    ("tokcap budget start review --total 100000", "print the line to eval: export TOKCAP_SESSION=review"),
    danger="writes",
)
def start(
    context: typer.Context,
    name: Name = "",
    total: Annotated[
        int | None, typer.Option(min=1, help="the budget in tokens; none: nothing is refused")
    ] = None,
    context_window: Annotated[int | None, typer.Option(min=1, help="tokens of the reader's context")] = None,
    model: Annotated[str, typer.Option(help="the reader, for its window"), Lists("models")] = "",
    result_pct: Annotated[float | None, typer.Option(help="part of the window for one result")] = None,
    turn_pct: Annotated[float | None, typer.Option(help="part of the window for one turn")] = None,
    floor_tokens: Annotated[
        int | None, typer.Option(min=0, help="what one result gets of a full window")
    ] = None,
    shell: Shell = "sh",
    session: Session = "",
    output: Output = None,
) -> int:
    """Start a session and print the line to evaluate. With the same settings again, nothing changes."""
    reply = Reply(context, output)
    variables = reply.env.variables
    name = session_name(name or session or variables.get("TOKCAP_SESSION") or made_up("s"))
    model = model or variables.get("TOKCAP_MODEL", "")
    if context_window is None and model:
        context_window = find_model(model, config_values(reply.env).models).context_window
    settings = Settings(total, context_window, result_pct, turn_pct, floor_tokens)
    started = open_ledger(reply.env).start(name, settings)
    if reply.is_text:
        return reply.say(exported("TOKCAP_SESSION", name, shell))
    return reply.give({"session": name, "started": started, **numbers(settings)})


@application.command("status")
@about(("tokcap budget status review", "a bar, what is left, and how answers come"), no=NO_SESSION)
def status(context: typer.Context, name: Name = "", session: Session = "", output: Output = None) -> int:
    """How a session stands: used, reserved, left, and the mode that answers come in."""
    reply = Reply(context, output)
    name, storage = opened(name, session, reply.env)
    return tell(name, storage.read(), reply)


@application.command("list")
@about(("tokcap budget list", "every session with its bar"))
def list_sessions(context: typer.Context, output: Output = None) -> int:
    """All sessions that run."""
    reply = Reply(context, output)
    sessions = open_ledger(reply.env).list()
    if not reply.is_text:
        rows = [
            {"session": found.name, "created": int(found.created), **account_numbers(found.account)}
            for found in sessions
        ]
        return reply.give(rows)
    if not sessions:
        return reply.say("no session runs; start one: tokcap budget start NAME --total N\n")
    width = max(len(found.name) for found in sessions)
    now = reply.env.now()
    lines = []
    for found in sessions:
        started = time.strftime("%Y-%m-%d %H:%M", time.localtime(min(found.created, now)))
        lines.append(f"{found.name.ljust(width)}  {started}  {bar_of(found.account)}\n")
    return reply.say("".join(lines))


@application.command("record")
@about(
    ("tokcap budget record --input 1200 --output 300 --id turn-7", "count a turn of the model, once"),
    danger="writes",
    no=NO_SESSION,
)
def record(
    context: typer.Context,
    name: Name = "",
    input_tokens: Annotated[int, typer.Option("--input", min=0, help="tokens that the model read")] = 0,
    output_tokens: Annotated[int, typer.Option("--output", min=0, help="tokens that the model wrote")] = 0,
    key: Annotated[
        str | None, typer.Option("--id", help="a key under which they are counted only once")
    ] = None,
    session: Session = "",
    # Here --output is a number of tokens, so the form has its letter only.
    form: Annotated[
        Literal["text", "json", "jsonl"] | None, typer.Option("-o", help="form of the response")
    ] = None,
) -> int:
    """Add the caller's own model tokens. What passes the total is recorded too; the next run is refused."""
    reply = Reply(context, form)
    name, storage = opened(name, session, reply.env)
    recorded = storage.record(input_tokens, output_tokens, key)
    account = recorded.account
    over = account.total is not None and account.used >= account.total
    notices: tuple[Notice, ...] = ()
    if over:
        words = f"the budget is exhausted: {account.used} of {account.total} tokens are used"
        notices = (Notice("BUDGET_EXHAUSTED", f"{words}; the next run is refused"),)
    if reply.is_text:
        counted = "" if recorded.counted else f"{key!r} was counted before\n"
        status = reply.say(counted + described(name, account))
        for notice in notices:
            reply.env.tell(f"warning: {notice.message}")
        return status
    data = {"session": name, "counted": recorded.counted, **account_numbers(account)}
    return reply.give(data, notices, truncated=True if over else None)


@application.command("check")
@about(
    ("tokcap budget check --need 500 || exit", "stop a loop that cannot afford its next step"),
    no="not enough is left, or there is no such session",
)
def check(
    context: typer.Context,
    name: Name = "",
    need: Annotated[
        int, typer.Option(min=1, help="tokens that have to be left; with -o json a run needs 150")
    ] = 1,
    session: Session = "",
    output: Output = None,
) -> int:
    """Whether enough is left: status 0, or 1 if not. Says nothing; made for loops."""
    reply = Reply(context, output)
    name, storage = opened(name, session, reply.env)
    account = storage.read()
    is_enough = account.remaining is None or account.remaining >= need
    status = exits.OK if is_enough else exits.NO
    if reply.is_text:
        return status
    return reply.give({"session": name, "ok": is_enough, **account_numbers(account)}, status=status)


@application.command("turn")
@about(('eval "$(tokcap budget turn)"', "begin a turn in this shell"), danger="writes", no=NO_SESSION)
def turn(
    context: typer.Context,
    identifier: Annotated[
        str, typer.Argument(metavar="ID", help="a name for the turn; made up if not given")
    ] = "",
    shell: Shell = "sh",
    session: Session = "",
    output: Output = None,
) -> int:
    """Begin a turn: print the line to evaluate. Its results together get --turn-pct of the window."""
    reply = Reply(context, output)
    name, storage = opened("", session, reply.env)
    identifier = identifier or made_up("t")
    # As --turn will read it.
    read_value(BY_KEY["turn"], identifier, "turn")
    storage.turn(identifier)
    if reply.is_text:
        return reply.say(exported("TOKCAP_TURN", identifier, shell))
    return reply.give({"session": name, "turn": identifier})


@application.command("compacted")
@about(
    ("tokcap budget compacted --used 4000", "the context holds 4,000 tokens now"),
    danger="writes",
    no=NO_SESSION,
)
def compacted(
    context: typer.Context,
    used: Annotated[int, typer.Option("--used", min=0, help="tokens that the context holds now")],
    name: Name = "",
    session: Session = "",
    output: Output = None,
) -> int:
    """Say that the reader's context was compacted. The session's total is not given back by that."""
    reply = Reply(context, output)
    name, storage = opened(name, session, reply.env)
    return tell(name, storage.compacted(used), reply)


@application.command("reset")
@about(
    ("tokcap budget reset review", "begin anew with the same total"),
    danger="destructive",
    no=NO_SESSION,
)
def reset(context: typer.Context, name: Name = "", session: Session = "", output: Output = None) -> int:
    """Begin a session anew with its settings: nothing used, nothing reserved."""
    reply = Reply(context, output)
    name = named(name, session, reply.env)
    account = found(lambda: open_ledger(reply.env).reset(name))
    return tell(name, account, reply)


@application.command("end")
@about(
    ("tokcap budget end review", "it can no longer be charged"),
    danger="destructive",
    no=NO_SESSION,
)
def end(context: typer.Context, name: Name = "", session: Session = "", output: Output = None) -> int:
    """End a session. What was used in it stays in the history."""
    reply = Reply(context, output)
    name = named(name, session, reply.env)
    account = found(lambda: open_ledger(reply.env).end(name))
    return tell(name, account, reply, f"ended {name}: {account.used} tokens were used\n")


def tell(name: str, account: Account, reply: Reply, text: str = "") -> int:
    """How a session stands; people may be told something else instead."""
    if reply.is_text:
        return reply.say(text or described(name, account))
    return reply.give({"session": name, **account_numbers(account)})


def named(name: str, session: str, env: Environment) -> str:
    """The session that is meant: the argument, the option, or the variable."""
    meant = name or session or env.variables.get("TOKCAP_SESSION", "")
    if not meant:
        raise UsageError("which session? name it, or set TOKCAP_SESSION")
    return session_name(meant)


def opened(name: str, session: str, env: Environment) -> tuple[str, SessionView]:
    """The session's account. Not to be there is an answer here: status 1."""
    meant = named(name, session, env)
    storage = SessionView(open_ledger(env), meant)
    found(storage.read)
    return meant, storage


def found(step: Callable[[], Account]) -> Account:
    try:
        return step()
    except SessionNotStarted as error:
        raise NotFound(str(error)) from None


def made_up(letter: str) -> str:
    """A name that nobody else has."""
    return letter + os.urandom(4).hex()


def exported(variable: str, value: str, shell: Literal["sh", "fish"]) -> str:
    """The line that sets a variable, for `eval`."""
    if shell == "fish":
        inside = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"set -gx {variable} " + (value if value.isalnum() else f"'{inside}'") + "\n"
    return f"export {variable}={quoted(value)}\n"
