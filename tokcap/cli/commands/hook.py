"""`tokcap hook …`: install hooks, so that coding agents run their commands under tokcap.

Agents call `tokcap hook run` before each of their commands; see `tokcap.hooks.handler`.
"""

from __future__ import annotations

from tokcap import exits
from tokcap.cli.description import Argument, Flag, Group, command, flag_like
from tokcap.cli.kinds import Switch
from tokcap.cli.reply import Reply
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.environment import Environment

GROUP = Group("hook", "Let a coding agent run its shell commands under tokcap.")

AGENT = Argument("NAME", "an agent that tokcap hook list names", names="agents")
LIMIT = flag_like("token_limit", "tokens per command", shown_default="as configured")
SESSION = flag_like("session", "charge this session")
PROJECT = Flag(
    ("--project",), "change the settings of this directory, not the user's", Switch(), "", False, "off"
)


@command("hook", "list", examples=(("tokcap hook list", "all agents, and whether the hook is installed"),))
def list_agents(env: Environment) -> int:
    """List agents: hook installed, available, or why unsupported."""
    from tokcap.environment import one_line
    from tokcap.hooks import manage

    lines = manage.list_lines(manage.place_here(env))
    return Reply(env, "text").say("".join(f"{one_line(line)}\n" for line in lines))


@command(
    "hook",
    "install",
    arguments=(AGENT,),
    flags=(LIMIT, SESSION, PROJECT),
    examples=(("tokcap hook install claude-code -n 2000", "from now on at most 2,000 tokens per command"),),
    danger="writes",
    no="there is no hook for this agent, or no safe one: no file was changed",
)
def install(
    env: Environment, *, name: str, token_limit: int | None, session: str | None, project: bool
) -> int:
    """Add the hook to the agent's settings; everything else in them stays as it is."""
    from tokcap.hooks import manage

    options = options_of(token_limit, session)
    env.tell("hook: " + manage.install(name, manage.place_here(env), options, project=project))
    return exits.OK


@command(
    "hook",
    "remove",
    arguments=(AGENT,),
    flags=(PROJECT,),
    examples=(("tokcap hook remove claude-code", "restore the settings"),),
    danger="writes",
    no="there was no hook, or the file that has it cannot be changed",
)
def remove(env: Environment, *, name: str, project: bool) -> int:
    """Remove the hook from the agent's settings."""
    from tokcap.hooks import manage

    removed = manage.remove(name, manage.place_here(env), project=project)
    env.tell(f"hook: {removed or f'{name} has no hook there'}")
    return exits.OK if removed else exits.NO


@command(
    "hook",
    "print",
    arguments=(AGENT,),
    flags=(LIMIT, SESSION, PROJECT),
    examples=(("tokcap hook print claude-code", "see it before it is written"),),
    no="there is no hook for this agent",
)
def print_entry(
    env: Environment, *, name: str, token_limit: int | None, session: str | None, project: bool
) -> int:
    """Print what install would write, to add it by hand."""
    from tokcap.hooks import manage

    return Reply(env, "text").say(manage.shown(name, options_of(token_limit, session), project=project))


COMMANDS = (list_agents, install, remove, print_entry)


def options_of(token_limit: int | None, session: str | None) -> tuple[str, ...]:
    """Return the options that the installed hook adds to every command."""
    from tokcap.budget.sqlite import session_name

    limit = () if token_limit is None else ("--token-limit", str(token_limit))
    return limit if session is None else (*limit, "--session", session_name(session))
