"""`tokcap hook …`: install hooks, so that what coding agents send to their models is capped.

Some agents call `tokcap hook run` after each of their tools; see `tokcap.hooks.handler`.
"""

from __future__ import annotations

from tokcap import exits
from tokcap.cli.description import Argument, Flag, Group, command, flag_like
from tokcap.cli.kinds import Name, Switch
from tokcap.cli.reply import Reply
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokcap.core.request import Value
    from tokcap.environment import Environment

GROUP = Group("hook", "Cap what a coding agent sends to its model.")

AGENT = Argument("NAME", "an agent listed by tokcap hook list", names="agents")
LIMIT = flag_like("token_limit", "tokens per result", shown_default="as configured, else 4000")
KEEP = flag_like("keep", "which part of an output to show", shown_default="as configured, else auto")
TOKENIZER = flag_like(
    "tokenizer", "the tokenizer to count with", shown_default="as configured, else that of the agent's model"
)
MODEL = flag_like("model", "count with the tokenizer of this model", shown_default="that of the agent")
TOOLS = Flag(
    ("--tools",),
    "other tools whose results are capped too, with commas: Read,Grep",
    Name("a list of tools"),
    "LIST",
    None,
    "none",
)
SESSION = flag_like("session", "the session to charge; @agent: one for each session of the agent")
REPEAT = flag_like("repeat", "what to do with an output that was shown before", shown_default="as configured")
PROJECT = Flag(
    ("--project",),
    "use the settings of the current directory instead of the user's",
    Switch(),
    "",
    False,
    "off",
)


OPTIONS = (LIMIT, KEEP, REPEAT, SESSION, TOKENIZER, MODEL, TOOLS, PROJECT)
COMMAND = Argument("COMMAND", "a command as an agent would run it")
ONLY = Flag(
    ("--agent",),
    "only this agent",
    Name("an agent listed by tokcap hook list"),
    "NAME",
    None,
    "every installed one",
    names="agents",
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

    return Reply(env, "text").say_lines(map(one_line, manage.list_lines(manage.place_here(env))))


@command(
    "hook",
    "install",
    arguments=(AGENT,),
    flags=OPTIONS,
    examples=(("tokcap hook install claude-code -n 2000", "cap every command at 2,000 tokens from now on"),),
    danger="writes",
    no="there is no way in for this agent, or its settings cannot be changed",
)
def install(env: Environment, *, name: str, project: bool, **options: Value) -> int:
    """Add the hook to the agent's settings; all other settings stay unchanged.

    It counts with the tokenizer of the model that the agent uses, unless another one is named or configured.
    """
    from tokcap.cli.hook_reader import with_reader
    from tokcap.hooks import manage

    place = manage.place_here(env)
    chosen, remark = with_reader(name, place, options, env)
    message = manage.install(name, place, words_of(chosen), project=project)
    env.tell(f"hook: {message}{remark}")
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
    flags=OPTIONS,
    examples=(("tokcap hook print claude-code", "show the settings that install would write"),),
    no="there is no hook for this agent",
)
def print_entry(env: Environment, *, name: str, project: bool, **options: Value) -> int:
    """Print what install would write, or a paragraph for the rules of an agent without a way in."""
    from tokcap.cli.hook_reader import with_reader
    from tokcap.hooks import manage

    place = manage.place_here(env)
    chosen, _ = with_reader(name, place, options, env)
    shown = manage.printed(name, place, words_of(chosen), project=project)
    return Reply(env, "text").say(shown)


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


@command(
    "hook",
    "status",
    examples=(("tokcap hook status", "prove that every installed hook works here"),),
    no="an installed hook does not work, or none is installed",
)
def status(env: Environment) -> int:
    """Run what installed agents would run, and check that it is capped. No model is needed."""
    from tokcap.cli.hook_options import capping_for
    from tokcap.hooks import manage
    from tokcap.hooks.proof import prove

    place = manage.place_here(env)
    proofs = [
        prove(agent, path, found, place, capping_for(found, env))
        for agent, path, found in manage.installed_agents(place)
    ]
    if not proofs:
        env.tell("hook: no hook is installed")
        return exits.NO
    Reply(env, "text").say("".join(f"{proof.line}\n" for proof in proofs))
    return exits.OK if all(proof.works for proof in proofs) else exits.NO


@command(
    "hook",
    "test",
    arguments=(COMMAND,),
    flags=(ONLY,),
    examples=(("tokcap hook test 'git log'", "what the installed agents would do with it"),),
    no="no hook is installed",
)
def test(env: Environment, *, command: str, agent: str | None) -> int:
    """Say what the installed agents would do with a command. It does not run."""
    from tokcap.cli.hook_options import capping_for
    from tokcap.hooks import manage

    place = manage.place_here(env)
    lines = [*manage.planned_lines(place, command, lambda found: capping_for(found, env), agent)]
    if not lines:
        env.tell("hook: no hook is installed")
        return exits.NO
    return Reply(env, "text").say("".join(f"{line}\n" for line in lines))


COMMANDS = (list_agents, install, remove, status, test, print_entry, print_env)


def words_of(options: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the options that the installed hook gives to tokcap, in the order of `OPTIONS`."""
    from tokcap.budget.base import session_name

    words: list[str] = []
    for flag in OPTIONS:
        value = options.get(flag.spellings[-1].removeprefix("--").replace("-", "_"))
        if value is not None:
            text = session_name(str(value)) if flag is SESSION else str(value)
            words += [flag.spellings[-1], text]
    return tuple(words)
