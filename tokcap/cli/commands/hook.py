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

GROUP = Group("hook", "Make a coding agent run its shell commands under tokcap.")

AGENT = Argument("NAME", "an agent listed by tokcap hook list", names="agents")
LIMIT = flag_like("token_limit", "tokens per command", shown_default="as configured")
SESSION = flag_like("session", "the session to charge")
REPEAT = flag_like("repeat", "what to do with an output that was shown before", shown_default="as configured")
PROJECT = Flag(
    ("--project",),
    "use the settings of the current directory instead of the user's",
    Switch(),
    "",
    False,
    "off",
)


@command(
    "hook",
    "list",
    examples=(("tokcap hook list", "which agents are supported, and where a hook is installed"),),
)
def list_agents(env: Environment) -> int:
    """List agents: hook installed, available, or why unsupported."""
    from tokcap.environment import one_line
    from tokcap.hooks import manage
    from tokcap.system.screen import screen_of

    lines = manage.list_lines(manage.place_here(env))
    screen = screen_of(env, env.stdout)
    shown = [part for line in lines for part in screen.wrapped(one_line(line), "  ")]
    return Reply(env, "text").say("".join(f"{part}\n" for part in shown))


@command(
    "hook",
    "install",
    arguments=(AGENT,),
    flags=(LIMIT, SESSION, REPEAT, PROJECT),
    examples=(("tokcap hook install claude-code -n 2000", "cap every command at 2,000 tokens from now on"),),
    danger="writes",
    no="there is no hook for this agent, or it is not safe with these settings",
)
def install(
    env: Environment,
    *,
    name: str,
    token_limit: int | None,
    session: str | None,
    repeat: str | None,
    project: bool,
) -> int:
    """Add the hook to the agent's settings; all other settings stay unchanged."""
    from tokcap.hooks import manage

    options = options_of(token_limit, session, repeat)
    env.tell("hook: " + manage.install(name, manage.place_here(env), options, project=project))
    return exits.OK


@command(
    "hook",
    "remove",
    arguments=(AGENT,),
    flags=(PROJECT,),
    examples=(("tokcap hook remove claude-code", "restore the settings"),),
    danger="writes",
    no="no hook is installed, or the settings file cannot be changed",
)
def remove(env: Environment, *, name: str, project: bool) -> int:
    """Remove the hook from the agent's settings."""
    from tokcap.hooks import manage

    message = manage.remove(name, manage.place_here(env), project=project)
    env.tell(f"hook: {message or f'no hook for {name} is installed in these settings'}")
    return exits.OK if message else exits.NO


@command(
    "hook",
    "print",
    arguments=(AGENT,),
    flags=(LIMIT, SESSION, REPEAT, PROJECT),
    examples=(("tokcap hook print claude-code", "show the settings that install would write"),),
    no="there is no hook for this agent",
)
def print_entry(
    env: Environment,
    *,
    name: str,
    token_limit: int | None,
    session: str | None,
    repeat: str | None,
    project: bool,
) -> int:
    """Print the settings that install would write, to add them by hand."""
    from tokcap.hooks import manage

    options = options_of(token_limit, session, repeat)
    return Reply(env, "text").say(manage.printed(name, options, project=project))


@command(
    "hook",
    "print-env",
    examples=(
        (
            "tokcap hook print-env > ~/.tokcap.bash",
            "then set BASH_ENV to that file in the agent's environment",
        ),
    ),
    no="the program tokcap-bash was not found",
)
def print_env(env: Environment) -> int:
    """Print a start-up file for BASH_ENV: every bash -c STRING then runs under tokcap-bash."""
    from tokcap.hooks.bash_env import bash_env
    from tokcap.system.shell import own_program

    path = own_program("tokcap-bash", env.variables)
    if not path:
        env.tell("hook: the program tokcap-bash was not found; install tokcap again")
        return exits.NO
    return Reply(env, "text").say(bash_env(path))


COMMANDS = (list_agents, install, remove, print_entry, print_env)


def options_of(token_limit: int | None, session: str | None, repeat: str | None) -> tuple[str, ...]:
    """Return the options that the installed hook gives to tokcap."""
    from tokcap.budget.base import session_name

    limit = () if token_limit is None else ("--token-limit", str(token_limit))
    charged = () if session is None else ("--session", session_name(session))
    return (*limit, *charged, *(() if repeat is None else ("--repeat", repeat)))
