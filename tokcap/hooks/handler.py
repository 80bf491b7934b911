"""`tokcap hook run NAME`: read an agent's event from standard input, write the answer to standard output.

On any failure it prints nothing and exits with status 0: the agent then continues as it would without tokcap.
"""

from __future__ import annotations

import sys

from tokcap.environment import own_path
from tokcap.hooks import AGENTS
from tokcap.hooks.base import Installation
from tokcap.startup.accelerators import json
from tokcap.startup.plainjson import loads
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from tokcap.environment import Environment
    from tokcap.hooks.base import Agent, Cap

    # Returns what caps a result of an agent, by what is installed for it, what the rules see of it, and the
    # session of the agent.
    CapFor = Callable[[Agent, Installation, Sequence[str], str], Cap]


def run(arguments: Sequence[str], env: Environment, cap_for: CapFor) -> int:
    """Answer one event; `arguments` are `NAME [OPTION VALUE]...`."""
    try:
        # Read to the end even if there is no answer: the agent may not expect a closed pipe.
        with open(env.stdin, "rb", buffering=0, closefd=False) as stdin:
            event = stdin.read()
        env.write_stdout(answer(arguments, event, cap_for))
    except (Exception, KeyboardInterrupt):  # a failure of tokcap must not stop an agent
        return 0
    return 0


def answer(arguments: Sequence[str], event: bytes, cap_for: CapFor) -> bytes:
    """Return the bytes to print; none if the agent should continue as without tokcap."""
    given = loads(event.decode())
    if not arguments or arguments[0] not in AGENTS or not isinstance(given, dict):
        return b""
    agent, options = AGENTS[arguments[0]], tuple(spelled_out(arguments[1:]))
    wanted = Installation(own_path(sys.argv[0]), options)
    session = str(given.get("session_id") or "")
    cap, ask = cap_for(agent, wanted, subject_of(given), session), description_of(given)
    found = agent.answer(given, wanted, lambda text, **changes: cap(text, **{"ask": ask, **changes}))
    return b"" if found is None else dumped(found) + b"\n"


def spelled_out(words: Sequence[str]) -> Iterator[str]:
    """Yield options as an installation writes them; `-n500` and `--keep=tail` may be written by hand."""
    for word in words:
        if word.startswith("-n"):
            yield from filter(None, ("--token-limit", word[2:]))
        elif word.startswith("--"):
            yield from word.split("=", 1)
        else:
            yield word


def description_of(event: Mapping[str, Any]) -> str:
    """Return what an agent says that a call is for, which is the question of the reader; empty if nothing."""
    given = event.get("tool_input") or event.get("toolArgs")
    said = given.get("description") if isinstance(given, dict) else None
    return said if isinstance(said, str) else ""


def subject_of(event: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what the rules see of an event: the line of a command in a shell, else the name of the tool."""
    given = event.get("tool_input") or event.get("toolArgs")
    if isinstance(given, dict) and isinstance(given.get("command"), str):
        return ("sh", "-c", given["command"])
    name = event.get("tool_name") or event.get("toolName") or event.get("tool")
    return (str(name),) if name else ()


def dumped(answer: dict[str, Any]) -> bytes:
    """Return what `json.dumps` returns, without importing `json`, which takes a quarter of the call.

    The text is ASCII, so a lone surrogate is passed on as it came.
    """
    encode = json.make_encoder(None, str, json.encode_basestring_ascii, None, ": ", ", ", False, False, True)
    return "".join(encode(answer, 0)).encode("ascii")
