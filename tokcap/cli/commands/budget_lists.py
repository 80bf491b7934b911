"""`tokcap budget list|history|watch`: what a ledger has, for people and for programs."""

from __future__ import annotations

from tokcap.cli.description import OUTPUT, Argument, Flag, command, flag_like
from tokcap.cli.kinds import Duration, Switch
from tokcap.cli.ledger import with_ledger
from tokcap.cli.reply import Reply
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.core.request import Output
    from tokcap.environment import Environment

NAME = Argument("NAME", "the session; default: TOKCAP_SESSION", required=False, names="sessions")
SESSION = flag_like("session", "the session; default: TOKCAP_SESSION").but(shown_default="")
LEDGER = flag_like("ledger", "the server that keeps sessions; default: TOKCAP_LEDGER, or config.toml").but(
    shown_default=""
)
ANY_NAME = NAME.but(help="only this session, and what is a part of it; default: all")
NO_SESSION = "there is no such session"
EMPTY = "no session is running; start one: tokcap budget start NAME --total N\n"


@command(
    "budget",
    "list",
    flags=(
        Flag(("--tree",), "each session below the one that it is a part of", Switch(), "", False),
        LEDGER,
        OUTPUT,
    ),
    examples=(
        ("tokcap budget list", "every session with its bar"),
        ("tokcap budget list --tree", "the same, as a tree"),
    ),
)
def list_sessions(env: Environment, *, tree: bool, ledger: str | None, output: Output | None) -> int:
    """List all running sessions."""
    from tokcap.budget import open_ledger
    from tokcap.cli.moments import local_time
    from tokcap.cli.session_status import account_numbers, in_tree_order, sessions_text
    from tokcap.system.screen import screen_of

    env = with_ledger(env, ledger)
    reply = Reply(env, output)
    sessions = open_ledger(env).list()
    levels = in_tree_order(sessions) if tree else [(0, each) for each in sessions]
    if not reply.is_text:
        return reply.give(
            [
                {
                    "session": each.name,
                    "created": int(each.created),
                    **account_numbers(each.account),
                    **({"depth": depth} if tree else {}),
                }
                for depth, each in levels
            ]
        )
    if not sessions:
        return reply.say(EMPTY)
    now = env.now()
    lines = []
    for depth, each in levels:
        started = local_time(min(each.created, now), "%Y-%m-%d %H:%M")
        lines.append(("  " * depth + each.name, started, each.account))
    return reply.say(sessions_text(lines, screen_of(env, env.stdout)))


@command(
    "budget",
    "history",
    arguments=(NAME.but(help="only this session; default: all"),),
    flags=(LEDGER, OUTPUT),
    examples=(("tokcap budget history ci", "what each period of the session ci has used"),),
    quick=True,
)
def history(env: Environment, *, name: str | None, ledger: str | None, output: Output | None) -> int:
    """Show what sessions have used: each period that is over, and the present one.

    A session without --renew has one period, from its start to its end or reset. Periods in which nothing
    happened are not listed. On Redis, the last 10,000 ended sessions and 10,000 periods are kept.
    """
    from tokcap.budget import open_ledger
    from tokcap.budget.base import session_name
    from tokcap.cli.session_history import history_text, periods_of
    from tokcap.system.screen import screen_of

    env = with_ledger(env, ledger)
    reply = Reply(env, output)
    rows = periods_of(open_ledger(env), None if name is None else session_name(name))
    if not reply.is_text:
        return reply.give([row.as_json() for row in rows])
    if not rows:
        return reply.say(
            "no session was ever started\n" if name is None else f"there was no session {name}\n"
        )
    return reply.say(history_text(rows, screen_of(env, env.stdout)))


@command(
    "budget",
    "watch",
    arguments=(ANY_NAME,),
    flags=(
        Flag(("--every",), "look again after this time", Duration(), "DURATION", 1.0, "1s"),
        Flag(("--once",), "show the present state and return", Switch(), "", False),
        LEDGER,
        OUTPUT,
    ),
    examples=(
        ("tokcap budget watch", "sessions and who holds what, until q is typed"),
        ("tokcap budget watch team --once -o json", "the same once, for a program"),
    ),
    no=NO_SESSION,
    quick=True,
)
def watch(
    env: Environment,
    *,
    name: str | None,
    every: float,
    once: bool,
    ledger: str | None,
    output: Output | None,
) -> int:
    """Show sessions and who holds what, and keep it up to date until q or Ctrl-C is typed.

    With -o json or jsonl, or if the output is not a terminal, it shows the state once.
    """
    from tokcap.budget import open_ledger
    from tokcap.budget.base import session_name
    from tokcap.cli.watching import Watch, look

    env = with_ledger(env, ledger)
    reply = Reply(env, output)
    store = open_ledger(env)
    seen = look(store, None if name is None else session_name(name))
    if not reply.is_text:
        return reply.give(seen.as_json())
    if once or not env.is_terminal(env.stdout):
        from tokcap.system.screen import screen_of

        return reply.say("".join(f"{line}\n" for line in seen.lines(screen_of(env, env.stdout).columns)))
    return Watch(env, store, name, every).run(seen)
