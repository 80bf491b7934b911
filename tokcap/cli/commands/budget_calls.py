"""`tokcap budget status|record|check|turn|compacted`: what agents and loops call."""

from __future__ import annotations

from tokcap import exits
from tokcap.budget.arithmetic import exhausted_message
from tokcap.cli.arguments import read_value
from tokcap.cli.description import Argument, Command
from tokcap.cli.kinds import Choice, LineOfText, WholeNumber
from tokcap.cli.options import BY_KEY, own_option, row_like
from tokcap.cli.reply import Reply, with_ledger
from tokcap.cli.sessions import account_numbers, account_text, exported, named, new_name
from tokcap.errors import UsageError
from tokcap.outputs import LEAST_TOKENS
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcap.budget.arithmetic import Account
    from tokcap.cli.options import Option
    from tokcap.cli.sessions import Meant
    from tokcap.core.response import Notice
    from tokcap.environment import Environment

NAME = Argument("NAME", "the session; default: TOKCAP_SESSION", required=False, names="sessions")
SESSION = row_like("session", "the session; default: TOKCAP_SESSION")
LEDGER = row_like("ledger", "the server that keeps sessions; default: TOKCAP_LEDGER, or config.toml")
OUTPUT = row_like("output")
# For a command whose --output is a number of tokens: then the format has only its letter.
FORM = OUTPUT.replace(key="form", has_name=False)
NO_SESSION = "Exit status 1: there is no such session."


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
    own_option("input", WholeNumber(0), "tokens the model read", metavar="N", default="0"),
    own_option("output", WholeNumber(0), "tokens the model wrote", metavar="N", default="0"),
    own_option("id", LineOfText(), "record the tokens only once for this ID", metavar="ID"),
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
        metavar="N",
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
    own_option("used", WholeNumber(0), "tokens that the context holds now; required", metavar="N"),
    details="What the session has used of its total stays used.",
    epilog=f"Example: tokcap budget compacted --used 4000. {NO_SESSION}",
)


def tell(name: str, account: Account, reply: Reply, text: str = "") -> int:
    """Report the state of a session; `text` replaces what people are told."""
    if reply.is_text:
        return reply.say(text or account_text(name, account))
    return reply.give({"session": name, **account_numbers(account)})


def exhausted_notice(account: Account) -> tuple[Notice, ...]:
    """Return the warning that the total is used up, if it is."""
    tightest = account.tightest[1]
    if tightest.total is None or tightest.used < tightest.total:
        return ()
    from tokcap.core.response import Notice

    return (Notice("BUDGET_EXHAUSTED", f"{exhausted_message(account)}; the next run is refused"),)
