"""Cap the results of tools as the shell of the agent caps the output of commands."""

from __future__ import annotations

from tokcap.errors import BudgetExhausted
from tokcap.hooks.base import OF_AGENT
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.request import Request
    from tokcap.environment import Environment
    from tokcap.hooks.base import Agent, Cap, Installation


def world_of(agent: Agent, wanted: Installation, env: Environment) -> Environment:
    """Return the environment in which an agent runs the shell that a hook installs for it."""
    more = {**wanted.variables(), **agent.variables(wanted)}
    return env.replace(variables={**env.variables, **more}).framed()


def request_of(agent: Agent, wanted: Installation, env: Environment) -> Request:
    """Return what applies to the results of an installed hook."""
    from tokcap.cli.stand_in import request_for

    return request_for((), world_of(agent, wanted, env), {})


def cap_for(
    agent: Agent, wanted: Installation, env: Environment, subject: Sequence[str] = (), session: str = ""
) -> Cap:
    """Return a function that caps a text. Rules see `subject` of it; `session` is that of the agent."""
    world = world_of(agent, wanted, env)
    if session and wanted.option("--session") == OF_AGENT:
        world = world.replace(variables={**world.variables, "TOKCAP_SESSION": session})

    def cap(text: str, **changes: object) -> str:
        from tokcap.cli.stand_in import program_for, request_for, run_tolerantly, with_total
        from tokcap.environment import OWN_WORDS, ShellReader
        from tokcap.source.given import GivenBytes

        # The mark must name a command that works in the agent's shell.
        reader = ShellReader(program_for((), world, wanted.program))
        shown, words = bytearray(), bytearray()
        inner = world.replace(
            reader=reader, collect=lambda place, data: (words if place == OWN_WORDS else shown).extend(data)
        )
        data = text.encode("utf-8", "surrogatepass")
        request = request_for(tuple(subject), inner, {}).replace(command=(), as_shell=False, **changes)
        try:
            run_tolerantly(with_total(request, inner), inner, lambda *_: GivenBytes(data))
        except BudgetExhausted:
            # The tool has run, so its result is not lost.
            request = request.replace(session="", repeat="full", mode="handle_only")
            run_tolerantly(request, inner, lambda *_: GivenBytes(data))
        # The mark of JSON is there, because it would not be JSON, and what the session is told.
        told = (b"[TRUNCATED]", b"tokcap: warning: the session ")
        marks = [line for line in words.splitlines() if line.startswith(told)]
        if marks:
            shown = bytearray(b"\n").join([shown.rstrip(b"\n"), *marks, b""])
        return shown.decode("utf-8", "replace")

    return cap


class HookRun:
    """`tokcap hook run`, which an agent waits for before or after each of its tools."""

    def answer(self, words: Sequence[str], env: Environment) -> int:
        """Answer the event on standard input."""
        from tokcap.hooks.handler import run

        return run(words, env, lambda agent, wanted, *of_event: cap_for(agent, wanted, env, *of_event))


HOOK_RUN = HookRun()
