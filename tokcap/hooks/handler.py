"""What the agent calls before every command: an event on standard input -> an answer on standard output.

It runs in front of everything, so it loads little. Whatever goes wrong, it is silent and its status is 0:
then the command runs as it would have without it.
"""

from __future__ import annotations

import os
import sys

from tokcap.hooks.agent import Place
from tokcap.hooks.rewrite import Launch, launch_options
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tokcap.environment import Environment
    from tokcap.hooks.agent import Agent


def run(arguments: Sequence[str], env: Environment, refuses: Callable[[Sequence[str]], bool]) -> int:
    """`tokcap hook run NAME [OPTION VALUE]...`: answer one event.

    `refuses` tells whether tokcap would refuse a call with these options. A mistake in the user's
    configuration must not stop the agent's commands.
    """
    try:
        # Read to the end even if there is nothing to say: the agent may not expect a closed pipe.
        event = read_all(env.stdin)
        data = answer(arguments, event, env.variables, refuses)
        env.write_stdout(data)
    except (Exception, KeyboardInterrupt):  # the promise above: nothing of ours may stop a command
        return 0
    return 0


def answer(
    arguments: Sequence[str],
    event: bytes,
    variables: Mapping[str, str],
    refuses: Callable[[Sequence[str]], bool],
) -> bytes:
    """The bytes to print."""
    agent = agent_named(arguments[0])
    if agent is None:
        return b""
    try:
        import json

        options = launch_options(arguments[1:])
        given = json.loads(event.decode())
        project = variables.get(agent.project_variable)
        if options is None or refuses(options) or not project or not isinstance(given, dict):
            return agent.silence
        launch = Launch(own_program(sys.argv[0]), options, path=variables.get("PATH", os.defpath))
        said = agent.answer(given, launch, place_of(project, variables))
        # Plain ASCII, so that half of a surrogate pair goes out as it came in.
        return agent.silence if said is None else json.dumps(said).encode("ascii") + b"\n"
    except Exception:  # as in `run`, but some agents want an answer even then
        return agent.silence


def agent_named(name: str) -> Agent | None:
    """The agent of that name; only its own module is loaded."""
    if name == "claude-code":
        from tokcap.hooks.claude_code import CLAUDE_CODE

        return CLAUDE_CODE
    if name == "gemini":
        from tokcap.hooks.gemini import GEMINI

        return GEMINI
    return None


def place_of(project: str, variables: Mapping[str, str]) -> Place:
    from tokcap.hooks.ancestors import command_lines

    home = variables.get("HOME") or os.path.expanduser("~")
    return Place(home, project, variables, command_lines=command_lines)


def own_program(argument: str) -> str:
    """How this very program is called again: by its full path, or by its name if it was started otherwise."""
    if os.path.basename(argument) == "tokcap" and "/" in argument and os.access(argument, os.X_OK):
        return os.path.abspath(argument)
    return "tokcap"


def read_all(descriptor: int) -> bytes:
    blocks = []
    while block := os.read(descriptor, 1 << 16):
        blocks.append(block)
    return b"".join(blocks)
