"""`tokcap budget status|record|check|turn|compacted`: what agents and loops call."""

from __future__ import annotations

from tokcap import exits
from tokcap.cli.description import Argument, Command
from tokcap.cli.kinds import Choice, LineOfText, WholeNumber
from tokcap.cli.options import BY_KEY, own_option, row_like
from tokcap.cli.reply import Reply, with_ledger
from tokcap.cli.sessions import exported, named, new_name
from tokcap.errors import UsageError
from tokcap.outputs import LEAST_TOKENS
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.budget.arithmetic import Account
    from tokcap.core.response import Notice
    from tokcap.environment import Environment

NAME = Argument("NAME", "the session; default: TOKCAP_SESSION", required=False, names="sessions")
SESSION = row_like("session", "the session; default: TOKCAP_SESSION")
LEDGER = row_like("ledger", "the server that keeps sessions; default: TOKCAP_LEDGER, or config.toml")
OUTPUT = row_like("output")
NO_SESSION = "Exit status 1: there is no such session."


def status(
    env: Environment,
    name: str | None = None,
    session: str | None = None,
    ledger: str | None = None,
    output: str | None = None,
) -> int:
    env = with_ledger(env, ledger)
    meant = named(name, session, env)
    return tell(meant.name, meant.do(meant.view(env).read), Reply(env, output))


STATUS = Command(
    path=("budget", "status"),
    summary="Show the state of a session: tokens used, reserved and left, and the mode of the next answer.",
    arguments=(NAME,),
    options=(SESSION, LEDGER, OUTPUT),
    epilog=NO_SESSION,
    handler=status,
)


def record(
    env: Environment,
    name: str | None = None,
    input: int = 0,  # noqa: A002  # as the option is named
    output: int = 0,
    id: str | None = None,  # noqa: A002  # as above
    session: str | None = None,
    ledger: str | None = None,
    form: str | None = None,
) -> int:
    from tokcap.cli.sessions import account_numbers, account_text

    env = with_ledger(env, ledger)
    reply = Reply(env, form)
    meant = named(name, session, env)
    recorded = meant.do(lambda: meant.view(env).record(input, output, id))
    account = recorded.account
    notices = exhausted_notice(account)
    if reply.is_text:
        counted = "" if recorded.counted else f"{id!r} was counted before\n"
        written = reply.say(counted + account_text(meant.name, account))
        for notice in notices:
            env.tell(f"warning: {notice.message}")
        return written
    data = {"session": meant.name, "counted": recorded.counted, **account_numbers(account)}
    return reply.give(data, notices, truncated=True if notices else None)


RECORD = Command(
    path=("budget", "record"),
    summary="Add tokens that the caller's own model used.",
    details="Tokens above the total are recorded too; then the next run is refused.",
    arguments=(NAME,),
    options=(
        own_option("input", WholeNumber(0), "tokens the model read", metavar="N", default="0"),
        own_option("output", WholeNumber(0), "tokens the model wrote", metavar="N", default="0"),
        own_option("id", LineOfText(), "record the tokens only once for this ID", metavar="ID"),
        SESSION,
        LEDGER,
        # Here --output is a number of tokens, so the format has only its letter.
        OUTPUT.replace(key="form", has_name=False),
    ),
    epilog=f"Example: tokcap budget record --input 1200 --output 300 --id turn-7. {NO_SESSION}",
    handler=record,
)


def check(
    env: Environment,
    name: str | None = None,
    need: int = LEAST_TOKENS,
    session: str | None = None,
    ledger: str | None = None,
    output: str | None = None,
) -> int:
    env = with_ledger(env, ledger)
    reply = Reply(env, output)
    meant = named(name, session, env)
    account = meant.do(meant.view(env).read)
    is_enough = account.remaining is None or account.remaining >= need
    found = exits.OK if is_enough else exits.NO
    if reply.is_text:
        return found
    from tokcap.cli.sessions import account_numbers

    return reply.give({"session": meant.name, "ok": is_enough, **account_numbers(account)}, status=found)


CHECK = Command(
    path=("budget", "check"),
    summary="Check whether enough is left: exit status 0 if so, 1 if not. Prints nothing.",
    arguments=(NAME,),
    options=(
        own_option(
            "need",
            WholeNumber(1),
            "tokens that must be left; use 150 for runs with -o json",
            metavar="N",
            default=str(LEAST_TOKENS),
        ),
        SESSION,
        LEDGER,
        OUTPUT,
    ),
    epilog="Example: tokcap budget check --need 500 || exit.",
    handler=check,
)


def turn(
    env: Environment,
    id: str | None = None,  # noqa: A002  # as the argument is named
    shell: str = "sh",
    session: str | None = None,
    ledger: str | None = None,
    output: str | None = None,
) -> int:
    from tokcap.cli.arguments import read_value

    env = with_ledger(env, ledger)
    reply = Reply(env, output)
    meant = named(None, session, env)
    storage = meant.view(env)
    meant.do(storage.read)
    identifier = id or new_name("t")
    # Refuse what --turn would refuse later.
    read_value(BY_KEY["turn"].kind, identifier, "turn")
    storage.turn(identifier)
    if reply.is_text:
        return reply.say(exported("TOKCAP_TURN", identifier, shell))
    return reply.give({"session": meant.name, "turn": identifier})


TURN = Command(
    path=("budget", "turn"),
    summary="Begin a turn and print the line to evaluate.",
    details="The results of a turn together may take --turn-pct of the context window.",
    arguments=(Argument("ID", "a name for the turn; default: a new one", required=False),),
    options=(
        own_option("shell", Choice(("sh", "fish")), "the shell that evaluates the line", default="sh"),
        SESSION,
        LEDGER,
        OUTPUT,
    ),
    epilog=f'Example: eval "$(tokcap budget turn)". {NO_SESSION}',
    handler=turn,
)


def compacted(
    env: Environment,
    name: str | None = None,
    used: int | None = None,
    session: str | None = None,
    ledger: str | None = None,
    output: str | None = None,
) -> int:
    if used is None:
        raise UsageError("--used is missing: tokens that the context holds now")
    env = with_ledger(env, ledger)
    meant = named(name, session, env)
    return tell(meant.name, meant.do(lambda: meant.view(env).compacted(used)), Reply(env, output))


COMPACTED = Command(
    path=("budget", "compacted"),
    summary="Record that the model's context was compacted.",
    details="What the session has used of its total stays used.",
    arguments=(NAME,),
    options=(
        own_option("used", WholeNumber(0), "tokens that the context holds now; required", metavar="N"),
        SESSION,
        LEDGER,
        OUTPUT,
    ),
    epilog=f"Example: tokcap budget compacted --used 4000. {NO_SESSION}",
    handler=compacted,
)


def tell(name: str, account: Account, reply: Reply, text: str = "") -> int:
    """Report the state of a session; `text` replaces what people are told."""
    from tokcap.cli.sessions import account_numbers, account_text

    if reply.is_text:
        return reply.say(text or account_text(name, account))
    return reply.give({"session": name, **account_numbers(account)})


def exhausted_notice(account: Account) -> tuple[Notice, ...]:
    """Return the warning that the total is used up, if it is."""
    name, tightest = account.tightest
    if tightest.total is None or tightest.used < tightest.total:
        return ()
    from tokcap.core.response import Notice

    whose = f"the budget of {name!r}" if name else "the budget"
    words = f"{whose} is exhausted: {tightest.used} of {tightest.total} tokens are used"
    return (Notice("BUDGET_EXHAUSTED", f"{words}; the next run is refused"),)
