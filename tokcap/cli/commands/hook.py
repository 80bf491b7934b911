"""`tokcap hook list | install | remove | print`: agents that run their commands under tokcap.

`tokcap hook run`, which the agents call, never comes here.
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

application = typer.Typer(help="Let a coding agent run its shell commands under tokcap.")

AgentName = Annotated[
    str, typer.Argument(metavar="NAME", help="an agent of tokcap hook list"), Lists("agents")
]
Limit = Annotated[
    int | None,
    typer.Option("-n", "--token-limit", min=1, show_default="as configured", help="tokens per command"),
]
Session = Annotated[str | None, typer.Option("--session", help="charge this session"), Lists("sessions")]
InProject = Annotated[bool, typer.Option("--project", help="the settings of this directory, not the user's")]


@application.command("list")
@about(("tokcap hook list", "which agents there are, and how it stands with them"))
def list_agents(context: typer.Context) -> int:
    """Say for every agent whether the hook is installed, or why there is none."""
    reply = Reply(context, "text")
    lines = manage.list_lines(manage.place_here(reply.env))
    return reply.say("".join(f"{one_line(line)}\n" for line in lines))


@application.command("install")
@about(
    ("tokcap hook install claude-code -n 2000", "from now on at most 2,000 tokens a command"),
    danger="writes",
    no="there is no hook for this agent, or none that is safe: no file was touched",
)
def install(
    context: typer.Context,
    name: AgentName,
    token_limit: Limit = None,
    session: Session = None,
    project: InProject = False,
) -> int:
    """Put the hook into the agent's settings; everything else in them stays as it is."""
    env: Environment = context.obj
    options = options_of(token_limit, session)
    env.tell("hook: " + manage.install(name, manage.place_here(env), options, project=project))
    return exits.OK


@application.command("remove")
@about(
    ("tokcap hook remove claude-code", "as it was before"),
    danger="writes",
    no="there was no hook, or the file that has it cannot be changed",
)
def remove(context: typer.Context, name: AgentName, project: InProject = False) -> int:
    """Take the hook out of the agent's settings again."""
    env: Environment = context.obj
    said = manage.remove(name, manage.place_here(env), project=project)
    env.tell(f"hook: {said or f'{name} has no hook there'}")
    return exits.OK if said else exits.NO


@application.command("print")
@about(("tokcap hook print claude-code", "see it before it is written"), no="there is no hook for this agent")
def print_entry(
    context: typer.Context,
    name: AgentName,
    token_limit: Limit = None,
    session: Session = None,
    project: InProject = False,
) -> int:
    """Print what install would write, to be put in place by hand."""
    shown = manage.shown(name, options_of(token_limit, session), project=project)
    return Reply(context, "text").say(shown)


def options_of(token_limit: int | None, session: str | None) -> tuple[str, ...]:
    """The options that the installed hook puts in front of every command."""
    limit = () if token_limit is None else ("--token-limit", str(token_limit))
    return limit if session is None else (*limit, "--session", session_name(session))
