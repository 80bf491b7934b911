"""`tokcap hook list | install | remove | print`: agents that run their commands under tokcap.

`tokcap hook run`, which the agents call, never comes here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tokcap import exits
from tokcap.cli.commands import Lists, about
from tokcap.hooks import manage
from tokcap.options import BY_KEY

if TYPE_CHECKING:
    from tokcap.environment import Environment

app = typer.Typer(
    name="hook",
    help="Let a coding agent run its shell commands under tokcap.",
    rich_markup_mode=None,
    no_args_is_help=False,
)

AgentName = Annotated[
    str, typer.Argument(metavar="NAME", help="an agent of tokcap hook list"), Lists("agents")
]
Limit = Annotated[str | None, typer.Option("--token-limit", "-n", metavar="N", help="tokens per command")]
Session = Annotated[
    str | None, typer.Option("--session", metavar="NAME", help="charge this session"), Lists("sessions")
]
InProject = Annotated[bool, typer.Option("--project", help="the settings of this directory, not the user's")]


@app.command("list")
@about(("tokcap hook list", "which agents there are, and how it stands with them"), exit_codes=(0, 2, 125))
def list_agents(context: typer.Context) -> int:
    """Say for every agent whether the hook is installed, or why there is none."""
    env: Environment = context.obj
    lines = manage.list_lines(manage.place_here(env))
    env.write_stdout("".join(f"{line}\n" for line in lines).encode())
    return exits.OK


@app.command("install")
@about(
    ("tokcap hook install claude-code -n 2000", "from now on at most 2,000 tokens a command"),
    danger="writes",
    exit_codes=(0, 1, 2, 125),
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


@app.command("remove")
@about(("tokcap hook remove claude-code", "as it was before"), danger="writes", exit_codes=(0, 1, 2, 125))
def remove(context: typer.Context, name: AgentName, project: InProject = False) -> int:
    """Take the hook out of the agent's settings again."""
    env: Environment = context.obj
    said = manage.remove(name, manage.place_here(env), project=project)
    env.tell(f"hook: {said or f'{name} has no hook there'}")
    return exits.OK if said else exits.NO


@app.command("print")
@about(("tokcap hook print claude-code", "see it before it is written"), exit_codes=(0, 1, 2, 125))
def print_entry(
    context: typer.Context,
    name: AgentName,
    token_limit: Limit = None,
    session: Session = None,
    project: InProject = False,
) -> int:
    """Print what install would write, to be put in place by hand."""
    env: Environment = context.obj
    env.write_stdout(manage.shown(name, options_of(token_limit, session), project=project).encode())
    return exits.OK


def options_of(token_limit: str | None, session: str | None) -> tuple[str, ...]:
    """The options that the installed hook puts in front of every command."""
    if token_limit is not None:
        try:
            BY_KEY["token_limit"].kind.read(token_limit)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--token-limit") from None
    if session is not None and not session.strip():
        raise typer.BadParameter("a name is needed", param_hint="--session")
    limit = () if token_limit is None else ("--token-limit", token_limit)
    return limit if session is None else (*limit, "--session", session)
