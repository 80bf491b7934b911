"""`tokcap budget …`: sessions, started, looked at and settled, for people, loops and agents."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tokcap import exits
from tokcap.arguments import config_values, read_value, wanted_output
from tokcap.budget import Settings
from tokcap.cli.commands import Lists, about
from tokcap.cli.responses import respond, say
from tokcap.errors import NotFound, SessionNotStarted, UsageError
from tokcap.ledger import Ledger, session_name
from tokcap.models import find_model
from tokcap.options import BY_KEY
from tokcap.shell import quoted
from tokcap.types import Notice

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcap.budget import Account
    from tokcap.environment import Environment
    from tokcap.ledger import SessionStorage

application = typer.Typer(help="Sessions: token budgets that many processes share.")

Output = Annotated[
    Literal["text", "json", "jsonl"] | None, typer.Option("-o", "--output", help="form of the response")
]
Shell = Annotated[Literal["sh", "fish"], typer.Option(help="the shell that evaluates the line")]
Session = Annotated[
    str, typer.Option("--session", help="the session; TOKCAP_SESSION if not given"), Lists("sessions")
]
Name = Annotated[str, typer.Argument(help="the session; TOKCAP_SESSION if not given"), Lists("sessions")]

BAR_CHARACTERS = 30


@application.command("start")
@about(
    ("tokcap budget start review --total 100000", "print the line to eval: export TOKCAP_SESSION=review"),
    danger="writes",
    exit_codes=(0, 1, 2, 125),
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
    env: Environment = context.obj
    output = output or wanted_output((), env)
    name = session_name(name or session or env.variables.get("TOKCAP_SESSION") or f"s{os.urandom(4).hex()}")
    if context_window is None and (model or env.variables.get("TOKCAP_MODEL")):
        context_window = window_of(model, env)
    settings = Settings(total, context_window, result_pct, turn_pct, floor_tokens)
    started = Ledger(env.data_dir()).start(name, settings)
    if output == "text":
        say(exported("TOKCAP_SESSION", name, shell), env)
        return exits.OK
    return respond({"session": name, "started": started, **numbers(settings)}, output, env)


@application.command("status")
@about(
    ("tokcap budget status review", "a bar, what is left, and how answers come"), exit_codes=(0, 1, 2, 125)
)
def status(context: typer.Context, name: Name = "", session: Session = "", output: Output = None) -> int:
    """How a session stands: used, reserved, left, and the mode that answers come in."""
    env: Environment = context.obj
    output = output or wanted_output((), env)
    name, storage = opened(name, session, env)
    account = storage.read()
    return tell(name, account, output, env)


@application.command("list")
@about(("tokcap budget list", "every session with its bar"), exit_codes=(0, 2, 125))
def list_sessions(context: typer.Context, output: Output = None) -> int:
    """All sessions that run."""
    env: Environment = context.obj
    output = output or wanted_output((), env)
    sessions = Ledger(env.data_dir()).sessions()
    if output != "text":
        rows = [
            {"session": found.name, "created": int(found.created), **account_numbers(found.account)}
            for found in sessions
        ]
        return respond(rows, output, env)
    if not sessions:
        say("no session runs; start one: tokcap budget start NAME --total N\n", env)
        return exits.OK
    width = max(len(found.name) for found in sessions)
    now = env.now()
    for found in sessions:
        age = time.strftime("%Y-%m-%d %H:%M", time.localtime(min(found.created, now)))
        say(f"{found.name.ljust(width)}  {age}  {bar_of(found.account)}\n", env)
    return exits.OK


@application.command("record")
@about(
    ("tokcap budget record --input 1200 --output 300 --id turn-7", "count a turn of the model, once"),
    danger="writes",
    exit_codes=(0, 1, 2, 125),
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
    env: Environment = context.obj
    form = form or wanted_output((), env)
    name, storage = opened(name, session, env)
    recorded = storage.record(input_tokens, output_tokens, key)
    account = recorded.account
    over = account.total is not None and account.used >= account.total
    notices: tuple[Notice, ...] = ()
    if over:
        words = f"the budget is exhausted: {account.used} of {account.total} tokens are used"
        notices = (Notice("BUDGET_EXHAUSTED", f"{words}; the next run is refused"),)
    if form == "text":
        counted = "" if recorded.counted else f"{key!r} was counted before\n"
        say(counted + described(name, account), env)
        for notice in notices:
            env.tell(f"warning: {notice.message}")
        return exits.OK
    data = {"session": name, "counted": recorded.counted, **account_numbers(account)}
    return respond(data, form, env, notices, truncated=True if over else None)


@application.command("check")
@about(
    ("tokcap budget check --need 500 || exit", "stop a loop that cannot afford its next step"),
    exit_codes=(0, 1, 2, 125),
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
    env: Environment = context.obj
    output = output or wanted_output((), env)
    name, storage = opened(name, session, env)
    account = storage.read()
    left = account.remaining is None or account.remaining >= need
    if output == "text":
        return exits.OK if left else exits.NO
    data = {"session": name, "ok": left, **account_numbers(account)}
    return respond(data, output, env, status=exits.OK if left else exits.NO)


@application.command("turn")
@about(
    ('eval "$(tokcap budget turn)"', "begin a turn in this shell"), danger="writes", exit_codes=(0, 1, 2, 125)
)
def turn(
    context: typer.Context,
    identifier: Annotated[
        str, typer.Argument(metavar="[ID]", help="a name for the turn; made up if not given")
    ] = "",
    shell: Shell = "sh",
    session: Session = "",
    output: Output = None,
) -> int:
    """Begin a turn: print the line to evaluate. Its results together get --turn-pct of the window."""
    env: Environment = context.obj
    output = output or wanted_output((), env)
    name, storage = opened("", session, env)
    storage.read()
    # As --turn will read it.
    identifier = identifier or f"t{os.urandom(4).hex()}"
    read_value(BY_KEY["turn"], identifier, "turn")
    if output == "text":
        say(exported("TOKCAP_TURN", identifier, shell), env)
        return exits.OK
    return respond({"session": name, "turn": identifier}, output, env)


@application.command("compacted")
@about(
    ("tokcap budget compacted --used 4000", "the context holds 4,000 tokens now"),
    danger="writes",
    exit_codes=(0, 1, 2, 125),
)
def compacted(
    context: typer.Context,
    used: Annotated[int, typer.Option("--used", min=0, help="tokens that the context holds now")],
    name: Name = "",
    session: Session = "",
    output: Output = None,
) -> int:
    """Say that the reader's context was compacted. The session's total is not given back by that."""
    env: Environment = context.obj
    output = output or wanted_output((), env)
    name, storage = opened(name, session, env)
    account = storage.compacted(used)
    return tell(name, account, output, env)


@application.command("reset")
@about(
    ("tokcap budget reset review", "begin anew with the same total"),
    danger="destructive",
    exit_codes=(0, 1, 2, 125),
)
def reset(context: typer.Context, name: Name = "", session: Session = "", output: Output = None) -> int:
    """Begin a session anew with its settings: nothing used, nothing reserved."""
    env: Environment = context.obj
    output = output or wanted_output((), env)
    name = named(name, session, env)
    account = found(lambda: Ledger(env.data_dir()).reset(name))
    return tell(name, account, output, env)


@application.command("end")
@about(
    ("tokcap budget end review", "it can no longer be charged"),
    danger="destructive",
    exit_codes=(0, 1, 2, 125),
)
def end(context: typer.Context, name: Name = "", session: Session = "", output: Output = None) -> int:
    """End a session. What was used in it stays in the history."""
    env: Environment = context.obj
    output = output or wanted_output((), env)
    name = named(name, session, env)
    account = found(lambda: Ledger(env.data_dir()).end(name))
    if output == "text":
        say(f"ended {name}: {account.used} tokens were used\n", env)
        return exits.OK
    return respond({"session": name, **account_numbers(account)}, output, env)


def tell(name: str, account: Account, output: Literal["text", "json", "jsonl"], env: Environment) -> int:
    """How a session stands, in the form that was asked for."""
    if output == "text":
        say(described(name, account), env)
        return exits.OK
    return respond({"session": name, **account_numbers(account)}, output, env)


def named(name: str, session: str, env: Environment) -> str:
    """The session that is meant: the argument, the option, or the variable."""
    meant = name or session or env.variables.get("TOKCAP_SESSION", "")
    if not meant:
        raise UsageError("which session? name it, or set TOKCAP_SESSION", of_a_subcommand=True)
    return session_name(meant)


def opened(name: str, session: str, env: Environment) -> tuple[str, SessionStorage]:
    """The session's account. Not to be there is an answer here: status 1."""
    meant = named(name, session, env)
    ledger = Ledger(env.data_dir())
    if not ledger.has(meant):
        found(lambda: ledger.session(meant).read())
    return meant, ledger.session(meant)


def found(step: Callable[[], Account]) -> Account:
    try:
        return step()
    except SessionNotStarted as error:
        raise NotFound(str(error)) from None


def exported(variable: str, value: str, shell: Literal["sh", "fish"]) -> str:
    """The line that sets a variable, for `eval`."""
    if shell == "fish":
        inside = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"set -gx {variable} " + (value if value.isalnum() else f"'{inside}'") + "\n"
    return f"export {variable}={quoted(value)}\n"


def numbers(settings: Settings) -> dict[str, object]:
    return {name: value for name, value in vars(settings).items() if value is not None}


def account_numbers(account: Account) -> dict[str, object]:
    """An account for programs. `remaining` and `total` are null where there is no limit."""
    rest = {name: value for name, value in numbers(account.settings).items() if name != "total"}
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


def described(name: str, account: Account) -> str:
    """An account for people, in a few lines."""
    lines = [f"{name}  {bar_of(account)}"]
    if account.reserved:
        lines.append(f"{account.reserved} reserved by what still runs")
    if account.settings.context_window is not None:
        lines.append(f"window: {account.window_used} of {account.settings.context_window} tokens")
    if account.total is not None:
        lines.append(f"answers come as {account.mode()}")
    return "\n".join(lines) + "\n"


def bar_of(account: Account) -> str:
    """`[######....] 6000 of 10000 tokens used, 4000 left`"""
    if account.total is None:
        return f"{account.used} tokens used, no limit"
    filled = min(round(account.usage_fraction * BAR_CHARACTERS), BAR_CHARACTERS)
    bar = "#" * filled + "." * (BAR_CHARACTERS - filled)
    return f"[{bar}] {account.used} of {account.total} tokens used, {account.remaining} left"


def window_of(model: str, env: Environment) -> int | None:
    """The window of a model, by the same rules as for a run."""
    return find_model(model or env.variables["TOKCAP_MODEL"], config_values(env).models).context_window
