"""`tokcap hook run NAME`: read an agent's event from standard input, write the answer to standard output.

On any failure it prints nothing and exits with status 0: the agent then continues as it would without tokcap.
"""

from __future__ import annotations

import os
import sys

from tokcap.environment import Frame
from tokcap.hooks import AGENTS
from tokcap.hooks.base import OF_AGENT, Capping, Installation
from tokcap.startup.accelerators import json
from tokcap.startup.plainjson import loads
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from tokcap.environment import Environment
    from tokcap.hooks.base import Agent, Cap

    # Takes options of tokcap, variables, and the command or tool, and returns what applies; None if tokcap
    # would refuse the call.
    Decide = Callable[[Sequence[str], Mapping[str, str], Sequence[str]], Capping | None]

# Options that are for the hook itself.
HOOK_OPTIONS = ("--tools",)
# What variables of tokcap start with, and the one that commands for the rest need too.
OWN, DATA = "TOKCAP_", "TOKCAP_DATA_DIR"
# There may be two attempts within the time that agents wait.
TIMEOUT_SECONDS = 25


def run(arguments: Sequence[str], env: Environment, decide: Decide) -> int:
    """Answer one event; `arguments` are `NAME [OPTION VALUE]...`."""
    try:
        # Read to the end even if there is no answer: the agent may not expect a closed pipe.
        with open(env.stdin, "rb", buffering=0, closefd=False) as stdin:
            event = stdin.read()
        env.write_stdout(answer(arguments, event, env.variables, decide))
    except (Exception, KeyboardInterrupt):  # a failure of tokcap must not stop an agent
        return 0
    return 0


def answer(arguments: Sequence[str], event: bytes, variables: Mapping[str, str], decide: Decide) -> bytes:
    """Return the bytes to print; none if the agent should continue as without tokcap."""
    given = loads(event.decode())
    if not arguments or arguments[0] not in AGENTS or not isinstance(given, dict):
        return b""
    wanted = Installation(own_program(sys.argv[0]), tuple(arguments[1:]))
    found = answer_event(AGENTS[arguments[0]], given, wanted, variables, decide)
    return b"" if found is None else dumped(found) + b"\n"


def answer_event(
    agent: Agent, event: dict[str, Any], wanted: Installation, variables: Mapping[str, str], decide: Decide
) -> dict[str, Any] | None:
    """Return what an agent answers to an event, with the limit that applies."""
    options = launch_options(wanted)
    subject = subject_of(event)
    capping = decide(options, variables, subject)
    if capping is None:
        # A mistake in the configuration must not lift the limit.
        variables = without_settings(variables)
        capping = decide(options, variables, subject)
    if capping is None:
        options, capping = (), Capping()
    if capping.passes:
        return None
    limit = str(Frame.read_from(agent.frame).left_of(capping.limit_tokens))
    words = (*options, "--token-limit", limit, "--keep", capping.keep)
    return agent.answer(
        event, wanted.limited(limit), cap_by(wanted.program, words, variables, capping.options)
    )


def subject_of(event: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what the rules see of an event: the line of a command in a shell, else the name of the tool."""
    given = event.get("tool_input") or event.get("toolArgs")
    if isinstance(given, dict) and isinstance(given.get("command"), str):
        return ("sh", "-c", given["command"])
    name = event.get("tool_name") or event.get("toolName") or event.get("tool")
    return (str(name),) if name else ()


def without_settings(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables without the settings of tokcap, and without its config file."""
    kept = {name: value for name, value in variables.items() if name == DATA or not name.startswith(OWN)}
    return {**kept, f"{OWN}CONFIG": os.devnull}


def launch_options(wanted: Installation) -> tuple[str, ...]:
    """Return the options of tokcap among those of an installed hook."""
    words = wanted.options
    return tuple(
        word
        for flag, value in zip(words[::2], words[1::2], strict=True)
        # Only commands belong to the session of the agent.
        if flag not in HOOK_OPTIONS and value != OF_AGENT
        for word in (flag, value)
    )


def cap_by(program: str, options: Sequence[str], variables: Mapping[str, str], of_rule: Sequence[str]) -> Cap:
    """Return a function that pipes a text through tokcap."""

    def cap(text: str, *more: str) -> str:
        import shutil
        import subprocess

        from tokcap.environment import INSIDE, Inside

        world = dict(variables)
        # The mark must name a command that works in the agent's shell.
        named = "tokcap" if shutil.which("tokcap", path=variables.get("PATH")) else program
        world[INSIDE] = Inside(program=named).as_text()
        for words in (options, without_session(options)):
            done = subprocess.run(
                [program, *words, *of_rule, *more],
                input=text.encode("utf-8", "surrogatepass"),
                capture_output=True,
                env=world,
                timeout=TIMEOUT_SECONDS,
                check=False,
            )
            if not done.returncode:
                break
            world.pop("TOKCAP_SESSION", None)
        done.check_returncode()
        # The mark of JSON is there, because it would not be JSON.
        marks = [line for line in done.stderr.splitlines() if line.startswith(b"[TRUNCATED]")]
        return b"\n".join([done.stdout.rstrip(b"\n"), *marks, b""] if marks else [done.stdout]).decode(
            "utf-8", "replace"
        )

    return cap


def without_session(options: Sequence[str]) -> tuple[str, ...]:
    """Return the options that work if the session has ended or its budget is exhausted."""
    pairs = zip(options[::2], options[1::2], strict=True)
    return tuple(word for pair in pairs if pair[0] not in ("--session", "--repeat") for word in pair)


def dumped(answer: dict[str, Any]) -> bytes:
    """Return what `json.dumps` returns, without importing `json`, which takes a quarter of the call.

    The text is ASCII, so a lone surrogate is passed on as it came.
    """
    encode = json.make_encoder(None, str, json.encode_basestring_ascii, None, ": ", ", ", False, False, True)
    return "".join(encode(answer, 0)).encode("ascii")


def own_program(argument: str) -> str:
    """Return the full path of this program, or its name if `argument` is not such a path."""
    if os.path.basename(argument) == "tokcap" and "/" in argument and os.access(argument, os.X_OK):
        return os.path.abspath(argument)
    return "tokcap"
