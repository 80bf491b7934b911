"""`tokcap hook …`: install hooks, so that what coding agents send to their models is capped.

Some agents call `tokcap hook run` after each of their tools; see `tokcap.hooks.handler`.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from tokcap import exits
from tokcap.budget.base import session_name
from tokcap.cli.application import application, like, reading
from tokcap.cli.hook_options import cap_for, request_of
from tokcap.cli.hook_reader import with_reader
from tokcap.cli.kinds import Name, WholeNumber
from tokcap.cli.reply import Reply
from tokcap.core.request import flag_of
from tokcap.environment import Environment, one_line
from tokcap.errors import UsageError
from tokcap.hooks import manage
from tokcap.hooks.base import OF_AGENT
from tokcap.hooks.manage import prove
from tokcap.hooks.own_files import bash_env
from tokcap.system.shell import own_program

if TYPE_CHECKING:
    from tokcap.core.request import Value

app = application("Cap what a coding agent sends to its model.")

OptionalAgent = Annotated[
    str | None, typer.Argument(metavar="AGENT", help="an agent listed by tokcap hook list")
]
Agent = Annotated[str, typer.Argument(metavar="AGENT", help="an agent listed by tokcap hook list")]
Limit = Annotated[
    int | None, like("token_limit", "tokens per result; default: as configured, else by agent: see hook list")
]
Keep = Annotated[
    str | None, like("keep", "which part of an output to show; default: as configured, else auto")
]
Repeat = Annotated[str | None, like("repeat", "what to do with an output that was shown before")]
Session = Annotated[
    str | None,
    like("session", "the session to charge; @agent: one for each session of the agent", "SESSION"),
]
Tokenizer = Annotated[
    str | None,
    like("tokenizer", "the tokenizer to count with; default: that of the agent's model", "TOKENIZER"),
]
Model = Annotated[str | None, like("model", "count with the tokenizer of this model", "MODEL")]
Tools = Annotated[
    str | None,
    reading(
        Name("a list of tools"),
        "--tools",
        "other tools whose results are capped too, with commas: Read,Grep",
        "LIST",
    ),
]
Total = Annotated[
    int | None,
    reading(
        WholeNumber(1),
        "--total",
        "tokens for each session of the agent: results and what its model writes",
    ),
]
Hard = Annotated[
    bool, typer.Option("--hard", help="with --total: refuse commands when it is used up, instead of handles")
]
Redact = Annotated[bool, typer.Option("--redact", help="mask secrets in what is shown and in what is stored")]
Project = Annotated[
    bool,
    typer.Option("--project", help="use the settings of the current directory instead of the user's"),
]

Rules = Annotated[
    bool,
    typer.Option("--rules", help="add rules for usual commands to config.toml, as comments to choose from"),
]


@app.command("list")
def list_agents(context: typer.Context) -> int:
    """List agents: hook installed, available, or why unsupported."""
    return Reply(context.obj, "text").say_lines(
        map(one_line, manage.list_lines(manage.place_here(context.obj)))
    )


@app.command(
    epilog="Exit status 1: there is no way in for this agent, or its settings cannot be changed."
    " Example: tokcap hook install claude-code -n 2000"
)
def install(
    context: typer.Context,
    name: OptionalAgent = None,
    token_limit: Limit = None,
    keep: Keep = None,
    repeat: Repeat = None,
    session: Session = None,
    tokenizer: Tokenizer = None,
    model: Model = None,
    tools: Tools = None,
    total: Total = None,
    hard: Hard = False,
    redact: Redact = False,
    project: Project = False,
    rules: Rules = False,
) -> int:
    """Add the hook to the agent's settings; all other settings stay unchanged.

    It counts with the tokenizer of the model that the agent uses, unless another one is named or configured.
    """
    env: Environment = context.obj
    place = manage.place_here(env)
    if rules:
        env.tell(f"hook: {manage.add_rules(env)}")
    if name is None:
        if rules:
            return exits.OK
        raise UsageError("AGENT is missing; see tokcap hook list")
    chosen, remark = with_reader(name, place, options_in(context), env)
    message = manage.install(name, place, words_of(chosen), project=project)
    env.tell(f"hook: {message}{remark}")
    return exits.OK


@app.command(epilog="Exit status 1: no hook is installed, or the settings file cannot be changed.")
def remove(context: typer.Context, name: Agent, project: Project = False) -> int:
    """Remove the hook from the agent's settings."""
    env: Environment = context.obj
    message = manage.remove(name, manage.place_here(env), project=project)
    env.tell(f"hook: {message or f'no hook for {name} is installed in these settings'}")
    return exits.OK if message else exits.NO


@app.command("print", epilog="Exit status 1: there is no hook for this agent.")
def print_entry(
    context: typer.Context,
    name: Agent,
    token_limit: Limit = None,
    keep: Keep = None,
    repeat: Repeat = None,
    session: Session = None,
    tokenizer: Tokenizer = None,
    model: Model = None,
    tools: Tools = None,
    total: Total = None,
    hard: Hard = False,
    redact: Redact = False,
    project: Project = False,
) -> int:
    """Print what install would write, or a paragraph for the rules of an agent without a way in."""
    env: Environment = context.obj
    place = manage.place_here(env)
    chosen, _ = with_reader(name, place, options_in(context), env)
    shown = manage.printed(name, place, words_of(chosen), project=project)
    return Reply(env, "text").say(shown)


@app.command(epilog="Exit status 1: the program tokcap-bash was not found.")
def print_env(context: typer.Context) -> int:
    """Print a start-up file for BASH_ENV: every bash -c STRING then runs under tokcap-bash."""
    env: Environment = context.obj
    path = own_program("tokcap-bash", env.variables)
    if not path:
        env.tell("hook: the program tokcap-bash was not found; install tokcap again")
        return exits.NO
    return Reply(env, "text").say(bash_env(path))


@app.command(epilog="Exit status 1: an installed hook does not work, or none is installed.")
def status(context: typer.Context) -> int:
    """Run what installed agents would run, and check that it is capped. No model is needed."""
    env: Environment = context.obj
    place = manage.place_here(env)
    proofs = [
        prove(agent, path, found, place, request_of(agent, found, env), cap_for(agent, found, env))
        for agent, path, found in manage.installed_agents(place)
    ]
    if not proofs:
        env.tell("hook: no hook is installed")
        return exits.NO
    Reply(env, "text").say("".join(f"{proof.line}\n" for proof in proofs))
    return exits.OK if all(proof.works for proof in proofs) else exits.NO


def options_in(context: typer.Context) -> "dict[str, Value]":
    """Return the options of tokcap that a call gives to a hook: all but where the hook is."""
    given = {key: value for key, value in context.params.items() if key not in ("name", "project", "rules")}
    session = given["session"] or (OF_AGENT if given["total"] else None)
    switches = {name: "true" if given[name] else None for name in ("hard", "redact")}
    return {**given, "session": session and session_name(session), **switches}


def words_of(options: "dict[str, Value]") -> tuple[str, ...]:
    """Return the options that the installed hook gives to tokcap."""
    given = {key: value for key, value in options.items() if value is not None}
    return tuple(word for key, value in given.items() for word in (flag_of(key), str(value)))
