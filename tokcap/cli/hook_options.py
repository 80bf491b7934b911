"""Cap the results of tools as the shell of the agent caps the output of commands."""

from __future__ import annotations

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


def cap_for(agent: Agent, wanted: Installation, subject: Sequence[str], env: Environment) -> Cap:
    """Return a function that caps a text. Only commands belong to the session of the agent."""
    world = world_of(agent, wanted, env)

    def cap(text: str, **changes: object) -> str:
        from tokcap.cli.stand_in import program_for, request_for, run_tolerantly
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
        run_tolerantly(request, inner, lambda *_: GivenBytes(data))
        # The mark of JSON is there, because it would not be JSON.
        marks = [line for line in words.splitlines() if line.startswith(b"[TRUNCATED]")]
        if marks:
            shown = bytearray(b"\n").join([shown.rstrip(b"\n"), *marks, b""])
        return shown.decode("utf-8", "replace")

    return cap


class HookRun:
    """`tokcap hook run`, which an agent waits for before or after each of its tools."""

    def answer(self, words: Sequence[str], env: Environment) -> int:
        """Answer the event on standard input."""
        from tokcap.hooks.handler import run

        return run(words, env, lambda agent, wanted, subject: cap_for(agent, wanted, subject, env))


HOOK_RUN = HookRun()
