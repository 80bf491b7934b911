"""`tokcap hook list | install | remove | print`: hooks that make coding agents run commands under tokcap.

`tokcap hook run`, which the agents call, is handled by `tokcap.hooks.handler` without loading this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tokcap import exits
from tokcap.budget.base import session_name
from tokcap.cli.described import Lists, about
from tokcap.cli.responses import Reply
from tokcap.environment import one_line
from tokcap.hooks import manage

if TYPE_CHECKING:
    from tokcap.environment import Environment

application = typer.Typer(help="Make a coding agent run its shell commands under tokcap.")

AgentName = Annotated[
    str, typer.Argument(metavar="NAME", help="an agent listed by tokcap hook list"), Lists("agents")
]
Limit = Annotated[
    int | None,
    typer.Option("-n", "--token-limit", min=1, show_default="as configured", help="tokens per command"),
]
Session = Annotated[str | None, typer.Option("--session", help="the session to charge"), Lists("sessions")]
InProject = Annotated[
    bool, typer.Option("--project", help="use the settings of the current directory instead of the user's")
]


@application.command("list")
@about(("tokcap hook list", "which agents are supported, and where a hook is installed"))
def list_agents(context: typer.Context) -> int:
    """List agents: hook installed, available, or why unsupported."""
    reply = Reply(context, "text")
    lines = manage.list_lines(manage.place_here(reply.env))
    return reply.say("".join(f"{one_line(line)}\n" for line in lines))


@application.command("install")
@about(
    ("tokcap hook install claude-code -n 2000", "cap every command at 2,000 tokens from now on"),
    danger="writes",
    no="there is no hook for this agent, or it is not safe here; no file was changed",
)
def install(
    context: typer.Context,
    name: AgentName,
    token_limit: Limit = None,
    session: Session = None,
    project: InProject = False,
) -> int:
    """Add the hook to the agent's settings; all other settings stay unchanged."""
    env: Environment = context.obj
    options = options_of(token_limit, session)
    env.tell("hook: " + manage.install(name, manage.place_here(env), options, project=project))
    return exits.OK


@application.command("remove")
@about(
    ("tokcap hook remove claude-code", "restore the settings"),
    danger="writes",
    no="no hook is installed, or the settings file cannot be changed",
)
def remove(context: typer.Context, name: AgentName, project: InProject = False) -> int:
    """Remove the hook from the agent's settings."""
    env: Environment = context.obj
    message = manage.remove(name, manage.place_here(env), project=project)
    env.tell(f"hook: {message or f'no hook is installed there for {name}'}")
    return exits.OK if message else exits.NO


@application.command("print")
@about(
    ("tokcap hook print claude-code", "show the settings that install would write"),
    no="there is no hook for this agent",
)
def print_entry(
    context: typer.Context,
    name: AgentName,
    token_limit: Limit = None,
    session: Session = None,
    project: InProject = False,
) -> int:
    """Print the settings that install would write, to add them by hand."""
    return Reply(context, "text").say(manage.printed(name, options_of(token_limit, session), project=project))


def options_of(token_limit: int | None, session: str | None) -> tuple[str, ...]:
    """Return the options that the installed hook gives to tokcap."""
    limit = () if token_limit is None else ("--token-limit", str(token_limit))
    return limit if session is None else (*limit, "--session", session_name(session))
