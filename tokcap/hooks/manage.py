"""What the subcommands of `tokcap hook` do, for any agent of the table."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from re import fullmatch

from tokcap.core.spelling import nearest
from tokcap.environment import own_path
from tokcap.errors import HookRefused, TokcapError
from tokcap.hooks import AGENTS
from tokcap.hooks.base import OF_AGENT, Installation, Place
from tokcap.hooks.own_files import source
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.system.private_files import change_file, contents_of
from tokcap.system.quoting import quoted
from tokcap.tokens import open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.core.request import Request
    from tokcap.environment import Environment
    from tokcap.hooks.base import Agent, Cap

# Parts of paths whose programs do not last: caches of `uvx` and `pipx run`, build environments.
TEMPORARY = ("/.cache/", "/uv/archive", "/uv/cache", "/pipx/.cache/")

# Agents that have no way in, or none that could be tried, each with the reason in one line. To support one of
# them, write its module, add it to `AGENTS`, and delete its line here.
NOT_TRIED = "could not be run without its vendor, so no way in was tried"
# What works by hand.
BY_HAND = "by hand: tokcap mcp wrap before its MCP servers, and what tokcap hook print {} prints in its rules"

UNSUPPORTED = {
    # cursor.com/docs/hooks: hooks see results, and cannot replace them.
    "cursor": f"Cursor {NOT_TRIED}; {BY_HAND}",
    # docs.factory.ai: hooks.
    "droid": f"Factory Droid {NOT_TRIED}; {BY_HAND}",
    # charmbracelet/crush: commands run in an interpreter that is part of Crush.
    "crush": f"Crush runs commands in its own interpreter instead of a shell; {BY_HAND}",
    # ampcode.com/manual/plugin-api.
    "amp": f"Amp {NOT_TRIED}; {BY_HAND}",
    # aider.chat/docs/usage/commands.html: its model cannot run commands.
    "aider": "Aider passes on what you run yourself; by hand: /run tokcap COMMAND, and tokcap in --test-cmd",
    # docs.openhands.dev: one bash that stays open, in a container.
    "openhands": f"OpenHands types commands into one shell that stays open; {BY_HAND}",
    # docs.windsurf.com/windsurf/cascade/hooks: a hook answers by its exit status.
    "windsurf": f"Windsurf {NOT_TRIED}; {BY_HAND}",
    # kiro.dev/docs/cli/hooks: a hook answers by its exit status.
    "kiro": f"Kiro {NOT_TRIED}; {BY_HAND}",
    # MoonshotAI/kimi-cli#1963.
    "kimi": f"Kimi CLI {NOT_TRIED}; {BY_HAND}",
}
UNSUPPORTED = {name: reason.format(name) for name, reason in UNSUPPORTED.items()}

RULES = """\
Run shell commands that may print much as `tokcap -n {limit} --keep auto -c 'COMMAND'`. Their exit status and
errors are kept. If the output is too long, the last line names the command that shows the rest,
`tokcap show HANDLE`; use `tokcap show HANDLE --grep PATTERN` to search in it. Do not run the command again.
"""

# What `status` runs.
LINES, STATUS = 60_000, 7
COMMAND = f"seq 1 {LINES}; exit {STATUS}"
TIMEOUT_SECONDS = 60
MARK = "[TRUNCATED]"


def list_lines(place: Place) -> Iterator[str]:
    """Yield one line per agent: whether and where the hook is installed, the way, the version tried."""
    for agent in agents():
        found = [path for path in settings_paths(agent, place) if is_installed(agent, path)]
        here = "available" if agent.is_present(place) else "not found here"
        where = f"installed in {', '.join(found)}" if found else here
        tried = f"tried with version {agent.tried}" if agent.tried else "not tried with the real agent"
        tools = f"; --tools: {', '.join(agent.tools)}" if agent.tools else ""
        yield f"{agent.name}: {where}; {agent.effect}; way: {agent.way}; {tried}{tools}"
        frame = agent.frame
        limits = f"up to {frame.whole} tokens whole, {frame.cut} of more"
        yield f"{agent.name}: limits: {limits}; by itself it passes on {agent.passes_on()}"
        for objection in agent.objections(place):
            yield f"{agent.name}: {objection}"
    for name, reason in UNSUPPORTED.items():
        yield f"{name}: unsupported: {reason}"


def install(name: str, place: Place, options: tuple[str, ...], *, project: bool) -> str:
    """Install an agent's hook and return a message. `HookRefused` if that is not possible."""
    agent = agent_named(name)
    path = settings_path(agent, place, project=project)
    wanted = wanted_installation(options)
    refuse_options(agent, wanted)
    changed = agent.install(path, wanted)
    message = f"installed in {path}; {agent.effect}" if changed else f"already installed in {path}"
    message += "; running sessions do not change" if changed else ""
    return message + what_is_missing(agent, path, place, wanted)


def refuse_options(agent: Agent, wanted: Installation) -> None:
    """Refuse tools whose results cannot be replaced in this agent, and a session without a name."""
    if wanted.option("--session") == OF_AGENT and not agent.session_variable:
        raise HookRefused(
            f"--session {OF_AGENT}: {agent.title} does not tell commands the name of its session, which"
            " --total needs too"
        )
    if wanted.option("--total") and wanted.option("--session") != OF_AGENT:
        raise HookRefused(
            f"--total is for the session of the agent, {OF_AGENT}; for another one: tokcap budget start"
        )
    if wanted.option("--hard") and not wanted.option("--total"):
        raise HookRefused("--hard needs --total: nothing is refused without a total")
    for tool in filter(None, wanted.option("--tools").split(",")):
        if not any(tool == known or fullmatch(known, tool) for known in agent.tools):
            known = ", ".join(agent.tools)
            reason = f"not one of {known}" if known else "the results of its tools cannot be replaced"
            raise HookRefused(f"--tools {tool}: {agent.title}: {reason}")


def what_is_missing(agent: Agent, path: str, place: Place, wanted: Installation) -> str:
    """Return what the hook still needs before it has an effect."""
    text = f"; {needed}" if (needed := how_to_start(agent, path)) else ""
    for objection in agent.objections(place):
        text += f"; no effect here: {objection}"
    if "--repeat" in wanted.options and "--session" not in wanted.options:
        text += "; --repeat has an effect only while TOKCAP_SESSION names a session"
    if wanted.program == "tokcap" and shutil.which("tokcap") is None:
        text += "; tokcap is not on PATH: the hook has no effect until it is"
    elif wanted.program == "tokcap" and "/" in (program := own_path(sys.argv[0])):
        text += (
            f"; {program} may be removed with its directory: the hook calls the tokcap that is on PATH then"
        )
    return text


def how_to_start(agent: Agent, path: str) -> str:
    """Return how an agent must be started; empty if as usual."""
    return agent.then and agent.then.format(quoted(agent.all_files(path)[0].path))


def add_rules(env: Environment) -> str:
    """Add usual rules to the end of the user's config file, as comments, and return a message."""
    path, rules = env.config_file(), source("rules.toml").encode()
    try:
        before = contents_of(path)
        if before is not None and rules.splitlines()[0] in before:
            return f"{path} has the rules already"
        blank_line = b"\n" if before else b""
        start = (before or b"") + (b"\n" if before and not before.endswith(b"\n") else b"")
        if not change_file(path, before, start + blank_line + rules):
            raise HookRefused(f"{path}: another program changes it; try again")
    except OSError as error:
        raise HookRefused(f"{path}: {error.strerror}; not changed") from None
    return f"rules were added to {path} as comments; see tokcap doctor --rule 'git diff'"


def remove(name: str, place: Place, *, project: bool) -> str | None:
    """Remove an agent's hook and return a message, or None if it is not installed."""
    agent = agent_named(name)
    path = settings_path(agent, place, project=project)
    return f"removed from {path}" if agent.remove(path) else None


def printed(name: str, place: Place, options: tuple[str, ...], *, project: bool) -> str:
    """Return what `install` would write; for an agent without a way in, a paragraph for its rules file."""
    wanted = wanted_installation(options)
    if name in UNSUPPORTED:
        return RULES.format(limit=wanted.option("--token-limit") or "4000")
    agent = agent_named(name)
    refuse_options(agent, wanted)
    return agent.printed(settings_path(agent, place, project=project), wanted)


def installed_agents(place: Place) -> Iterator[tuple[Agent, str, Installation]]:
    """Yield every installed hook: the agent, its settings file, and what is installed."""
    for agent in agents():
        for path in settings_paths(agent, place):
            found = agent.installation(path)
            if found is not None:
                yield agent, path, found


def wanted_installation(options: tuple[str, ...]) -> Installation:
    return Installation(lasting_program(sys.argv[0]), options)


def lasting_program(argument: str) -> str:
    """Return the full path of this program, or its name if the path is temporary."""
    program = own_path(argument)
    temporary = (*TEMPORARY, os.path.realpath(tempfile.gettempdir()) + "/", tempfile.gettempdir() + "/")
    return "tokcap" if any(part in program for part in temporary) else program


def agents() -> Iterator[Agent]:
    """Yield every supported agent."""
    for name in AGENTS:
        yield AGENTS[name]


def agent_named(name: str) -> Agent:
    if name in AGENTS:
        return AGENTS[name]
    if name in UNSUPPORTED:
        raise HookRefused(f"there is no hook for {name}: {UNSUPPORTED[name]}")
    near = nearest(name, (*AGENTS, *UNSUPPORTED))
    hint = f"did you mean {near}?" if near else "see tokcap hook list"
    raise HookRefused(f"unknown agent {name!r}; {hint}")


def settings_path(agent: Agent, place: Place, *, project: bool) -> str:
    path = agent.project_settings(place) if project else agent.user_settings(place)
    if not path:
        raise HookRefused(f"{agent.title} has no settings for one user in one project; leave out --project")
    return path


def settings_paths(agent: Agent, place: Place) -> list[str]:
    """Return the user's and the project's settings file, or one path if they are the same file."""
    both = [agent.user_settings(place), agent.project_settings(place)]
    differ = both[1] and os.path.realpath(both[0]) != os.path.realpath(both[1])
    return both if differ else both[:1]


def is_installed(agent: Agent, path: str) -> bool:
    """Return whether the hook is in a file. A file that cannot be read counts as one without it."""
    try:
        return agent.installation(path) is not None
    except HookRefused:
        return False


def place_here(env: Environment) -> Place:
    """Return the user's home and the current directory."""
    try:
        return Place(env.home(), os.getcwd(), env.variables)
    except OSError:
        raise HookRefused("the current directory no longer exists; change to another one") from None


class Proof(Record):
    """What was found out about one hook."""

    works: bool
    line: str


def prove(agent: Agent, path: str, found: Installation, place: Place, request: Request, cap: Cap) -> Proof:
    """Run the agent's shell with a long output, or send an event with one. `request` is what applies."""
    limit, tokens, text, counts = request.limit_if_cut or request.token_limit or 0, 0, "", ""
    try:
        if agent.shell_words(path, "")[0]:
            problem, text = by_shell(agent, path, place)
        else:
            problem, text = by_event(agent, found, cap)
        tokenizer = open_tokenizer(request.tokenizer)
        tokens = tokenizer.count(text)
        counts = f"({request.tokenizer}{', an estimate' if tokenizer.units_per_token > 1 else ''})"
    except TokcapError as error:
        problem = str(error)
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError) as error:
        problem = f"{type(error).__name__}: {error}"
    if not problem and MARK not in text:
        problem = "the output was not capped"
    if not problem and tokens > limit:
        problem = f"{tokens} tokens were shown, {limit} are allowed"
    if not problem and agent.frame.crowding(text.encode(), failed=True) > 1:
        problem = f"{agent.title} would cut it again: it passes on {agent.passes_on()}"
    objections = agent.objections(place)
    if problem:
        return Proof(False, f"{agent.name}: does not work: {problem}")
    if objections:
        return Proof(False, f"{agent.name}: works, but not in this directory: {objections[0]}")
    needed = how_to_start(agent, path)
    return Proof(
        True,
        f"{agent.name}: works: {LINES} lines were capped to {tokens} of {limit} tokens {counts}"
        + (f"; {needed}" if needed else ""),
    )


def by_shell(agent: Agent, path: str, place: Place) -> tuple[str, str]:
    """Return a problem, or an empty text, and the output."""
    words, variables = agent.shell_words(path, COMMAND)
    inherited = {name: value for name, value in place.variables.items() if name != "TOKCAP_INSIDE"}
    done = subprocess.run(
        words,
        env={**inherited, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    problem = "" if done.returncode == STATUS else f"the exit status was {done.returncode}, not {STATUS}"
    text = done.stdout.decode("utf-8", "replace")
    # The frame has room for this line.
    return problem, text.removesuffix(f"[exit status {STATUS}]\n") if agent.frame.tells_status else text


def by_event(agent: Agent, found: Installation, cap: Cap) -> tuple[str, str]:
    event = agent.sample_event("".join(f"{number}\n" for number in range(LINES)))
    answer = agent.answer(event, found, cap)
    return ("" if answer else "the result was not replaced"), agent.text_of_answer(answer or {})
