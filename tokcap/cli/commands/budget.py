"""`tokcap budget …`: start, list, reset and end sessions: token budgets that many processes share."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tokcap.budget import open_ledger
from tokcap.budget.arithmetic import MODES_OF_SESSIONS, RENEWALS, Settings
from tokcap.budget.base import session_name
from tokcap.cli.application import Ledger, Output, Session, add_calls, application, like, reading
from tokcap.cli.arguments import config_of
from tokcap.cli.commands.budget_calls import (
    CHECK,
    COMPACTED,
    RECORD,
    STATUS,
    STATUSLINE,
    TURN,
    account_numbers,
    bar_of,
    exported,
    in_tree_order,
    name_of,
    named,
    new_name,
    settings_numbers,
    tell,
)
from tokcap.cli.kinds import Choice, LineOfText, WholeNumber
from tokcap.cli.reply import Reply, with_ledger
from tokcap.core.units import local_time, printable, utc_time
from tokcap.tokens.models import find_model

if TYPE_CHECKING:
    from tokcap.budget.ledger import Ledger as LedgerStore

EMPTY = "no session is running; start one: tokcap budget start NAME --total N\n"
RUNNING = "running"
LONGEST_NAME = 30
HISTORY = ("session", "from (UTC)", "to (UTC)", "tokens", "")
NO_SESSION = "Exit status 1: there is no such session."

app = application("Manage sessions: token budgets that many processes share.")

Name = Annotated[str | None, typer.Argument(metavar="SESSION", help="the session; default: TOKCAP_SESSION")]


@app.command(epilog="Example: tokcap budget start ann --parent team --total 50000")
def start(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="the session; default: TOKCAP_SESSION, or a random name"),
    ] = None,
    total: Annotated[
        int | None,
        reading(WholeNumber(1), "--total", "the budget in tokens; without it nothing is refused"),
    ] = None,
    parent: Annotated[
        str | None,
        reading(
            LineOfText(),
            "--parent",
            "the session that this one is a part of: what it uses counts there too",
            "SESSION",
        ),
    ] = None,
    renew: Annotated[
        str | None,
        reading(Choice(RENEWALS), "--renew", "begin at 0 again in every period, by the clock in UTC"),
    ] = None,
    modes: Annotated[
        str | None,
        reading(
            Choice(MODES_OF_SESSIONS),
            "--modes",
            "fixed: answers stay as asked for until nothing is left; soft: and then nothing is refused",
        ),
    ] = None,
    context_window: Annotated[int | None, like("context_window")] = None,
    model: Annotated[str | None, like("model", "the model that reads the output", "MODEL")] = None,
    result_pct: Annotated[float | None, like("result_pct")] = None,
    turn_pct: Annotated[float | None, like("turn_pct")] = None,
    floor_tokens: Annotated[int | None, like("floor_tokens")] = None,
    shell: Annotated[
        str, reading(Choice(("sh", "fish")), "--shell", text="the shell that evaluates the line")
    ] = "sh",
    session: Session = None,
    ledger: Ledger = None,
    output: Output = None,
) -> int:
    """Start a session and print the line to evaluate.

    If it already runs with these settings, nothing changes.
    """
    env = with_ledger(context.obj, ledger)
    reply = Reply(env, output)
    meant = name_of(name, session, env)
    name = meant.name if meant else new_name("s")
    model = model or env.variables.get("TOKCAP_MODEL", "")
    if context_window is None and model:
        context_window = find_model(model, config_of(env).models).context_window
    settings = Settings(
        total, context_window, result_pct, turn_pct, floor_tokens, parent or None, renew, modes
    )
    started = open_ledger(env).start(name, settings)
    if reply.is_text:
        return reply.say(exported("TOKCAP_SESSION", name, shell))
    return reply.give({"session": name, "started": started, **settings_numbers(settings)})


add_calls(app, STATUS, RECORD, CHECK, TURN, COMPACTED, STATUSLINE)


@app.command("list")
def list_sessions(
    context: typer.Context,
    ledger: Ledger = None,
    output: Output = None,
) -> int:
    """List all running sessions, each below the one that it is a part of."""
    env = with_ledger(context.obj, ledger)
    reply = Reply(env, output)
    sessions = open_ledger(env).list()
    levels = in_tree_order(sessions)
    if not reply.is_text:
        return reply.give(
            [
                {"session": each.name, "created": int(each.created), **account_numbers(each.account)}
                for _, each in levels
            ]
        )
    if not sessions:
        return reply.say(EMPTY)
    now = env.now()
    return reply.say_table(
        [
            (
                "  " * depth + each.name,
                local_time(min(each.created, now), "%Y-%m-%d %H:%M"),
                bar_of(each.account),
            )
            for depth, each in levels
        ]
    )


@app.command()
def history(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="SESSION", help="only this session; default: all")
    ] = None,
    ledger: Ledger = None,
    output: Output = None,
) -> int:
    """Show what sessions have used: each period that is over, and the present one.

    A session without --renew has one period, from its start to its end or reset. Periods in which nothing
    happened are not listed. On Redis, the last 10,000 ended sessions and 10,000 periods are kept.
    """
    env = with_ledger(context.obj, ledger)
    reply = Reply(env, output)
    rows = periods_of(open_ledger(env), None if name is None else session_name(name))
    if not reply.is_text:
        return reply.give(rows)
    if not rows:
        return reply.say(
            "no session was ever started\n" if name is None else f"there was no session {name}\n"
        )
    return reply.say_table([HISTORY, *map(row_of, rows)])


@app.command(epilog=NO_SESSION)
def reset(
    context: typer.Context,
    name: Name = None,
    session: Session = None,
    ledger: Ledger = None,
    output: Output = None,
) -> int:
    """Set the used and reserved tokens of a session to 0; its settings stay.

    Sessions above and below it keep their numbers.
    """
    env = with_ledger(context.obj, ledger)
    meant = named(name, session, env)
    account = meant.stop(lambda: open_ledger(env).session(meant.name).reset())
    return tell(meant.name, account, Reply(env, output))


@app.command(epilog=NO_SESSION)
def end(
    context: typer.Context,
    name: Name = None,
    tree: Annotated[bool, typer.Option("--tree", help="also end the sessions below it")] = False,
    session: Session = None,
    ledger: Ledger = None,
    output: Output = None,
) -> int:
    """End a session. It can no longer be charged; tokcap budget history still shows it.

    What it has used stays used in the sessions that it was a part of.
    """
    env = with_ledger(context.obj, ledger)
    meant = named(name, session, env)
    account = meant.stop(lambda: open_ledger(env).session(meant.name).end(tree=tree))
    text = f"ended {meant.name}: {account.used} tokens were used\n"
    return tell(meant.name, account, Reply(env, output), text)


def periods_of(ledger: "LedgerStore", name: str | None) -> list[dict[str, Any]]:
    """Return all periods of one session or of all, the oldest first; those that still run come last."""
    past = [
        {**vars(each), "began": int(each.began), "ended": int(each.ended)} for each in ledger.history(name)
    ]
    running = [
        {
            "session": each.name,
            "began": int(each.created if each.account.period_began is None else each.account.period_began),
            "ended": None,
            "total": each.account.total,
            "used": each.account.used,
            "how": RUNNING,
        }
        for each in ledger.list()
        if name in (None, each.name)
    ]
    return [*past, *running]


def row_of(period: dict[str, Any]) -> tuple[str, ...]:
    """Return a period for people: session, beginning and end, what was used of how much, and how it ended."""
    return (
        printable(period["session"], LONGEST_NAME),
        minute_of(period["began"]),
        "now" if period["ended"] is None else minute_of(period["ended"]),
        f"{period['used']}" + ("" if period["total"] is None else f" of {period['total']}"),
        period["how"],
    )


def minute_of(seconds: float) -> str:
    return utc_time(seconds, "%Y-%m-%d %H:%M")
