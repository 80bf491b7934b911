"""`tokcap hook run NAME`: read an agent's event from standard input, write the answer to standard output.

It runs before every command of the agent, so it loads only that agent's modules. On any failure it prints
nothing and exits with status 0: the command then runs as it would without tokcap.
"""

from __future__ import annotations

import os
import sys
from _json import encode_basestring_ascii, make_encoder

from tokcap.hooks import AGENTS
from tokcap.hooks.base import Launch, Place
from tokcap.hooks.rewrite import REPEAT, launch_options, without_repeat
from tokcap.lean.plainjson import loads
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from tokcap.environment import Environment


def run(arguments: Sequence[str], env: Environment, refuses: Callable[[Sequence[str]], bool]) -> int:
    """Answer one event; `arguments` are `NAME [OPTION VALUE]...`.

    `refuses` returns whether tokcap would reject a call with these options. A mistake in the user's
    configuration must not stop the agent's commands.
    """
    try:
        # Read to the end even if there is no answer: the agent may not expect a closed pipe.
        event = read_all(env.stdin)
        env.write_stdout(answer(arguments, event, env.variables, refuses))
    except (Exception, KeyboardInterrupt):  # a failure of tokcap must not stop a command
        return 0
    return 0


def answer(
    arguments: Sequence[str],
    event: bytes,
    variables: Mapping[str, str],
    refuses: Callable[[Sequence[str]], bool],
) -> bytes:
    """Return the bytes to print."""
    if arguments[0] not in AGENTS:
        return b""
    agent = AGENTS[arguments[0]]
    try:
        options = launch_options(arguments[1:])
        if options and REPEAT in options and refuses(options):
            # Whether there is a session can change between two commands.
            options = without_repeat(options)
        given = loads(event.decode())
        project = variables.get(agent.project_variable)
        if options is None or refuses(options) or not project or not isinstance(given, dict):
            return agent.no_answer
        launch = Launch(own_program(sys.argv[0]), options, path=variables.get("PATH", os.defpath))
        found = agent.answer(given, launch, place_in(project, variables))
        return agent.no_answer if found is None else dumped(found) + b"\n"
    except Exception:  # as in `run`, but some agents need an answer even then
        return agent.no_answer


def dumped(answer: dict[str, Any]) -> bytes:
    """Return what `json.dumps` returns, without importing `json`, which takes a quarter of the call.

    The text is ASCII, so a lone surrogate is passed on as it came.
    """
    encode = make_encoder(None, str, encode_basestring_ascii, None, ": ", ", ", False, False, True)
    return "".join(encode(answer, 0)).encode("ascii")


def place_in(project: str, variables: Mapping[str, str]) -> Place:
    from tokcap.hooks.ancestors import command_lines

    home = variables.get("HOME") or os.path.expanduser("~")
    return Place(home, project, variables, command_lines=command_lines)


def own_program(argument: str) -> str:
    """Return the full path of this program, or its name if `argument` is not such a path."""
    if os.path.basename(argument) == "tokcap" and "/" in argument and os.access(argument, os.X_OK):
        return os.path.abspath(argument)
    return "tokcap"


def read_all(descriptor: int) -> bytes:
    blocks = []
    while block := os.read(descriptor, 1 << 16):
        blocks.append(block)
    return b"".join(blocks)
