"""Cap the results of tools as the shell of the agent caps the output of commands."""

from __future__ import annotations

from tokcap.cli.stand_in import program_for, request_for, run_tolerantly, with_total
from tokcap.environment import OWN_WORDS, ShellReader
from tokcap.errors import BudgetExhausted
from tokcap.hooks.base import OF_AGENT
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.request import Request
    from tokcap.environment import Environment
    from tokcap.hooks.base import Agent, Cap, Installation
    from tokcap.pipeline import Done


def world_of(agent: Agent, wanted: Installation, env: Environment) -> Environment:
    """Return the environment in which an agent runs the shell that a hook installs for it."""
    more = {**wanted.variables(), **agent.variables(wanted)}
    return env.replace(variables={**env.variables, **more}).framed()


def request_of(agent: Agent, wanted: Installation, env: Environment) -> Request:
    """Return what applies to the results of an installed hook."""
    return request_for((), world_of(agent, wanted, env), {})


def cap_for(
    agent: Agent, wanted: Installation, env: Environment, subject: Sequence[str] = (), session: str = ""
) -> Cap:
    """Return a function that caps a text. Rules see `subject` of it; `session` is that of the agent."""
    world = world_of(agent, wanted, env)
    if session and wanted.option("--session") == OF_AGENT:
        world = world.replace(variables={**world.variables, "TOKCAP_SESSION": session})
    # The mark must name a command that works in the agent's shell.
    world = world.replace(reader=ShellReader(program_for((), world, wanted.program)))

    def cap(text: str, **changes: object) -> str:
        kind = changes.pop("media", None)
        request = request_for(tuple(subject), world, {}).replace(command=(), as_shell=False, **changes)
        if kind:
            return described(text, str(kind), request, world)
        if "shape" not in changes and request.token_limit and len(text) > request.token_limit:
            text = without_blobs(text, request, world)
        try:
            shown, words, _ = answered(encoded(text), with_total(request, world), world)
        except BudgetExhausted:
            # The tool has run, so its result is not lost.
            request = request.replace(session="", repeat="full", mode="handle_only")
            shown, words, _ = answered(encoded(text), request, world)
        # The mark of JSON is there, because it would not be JSON, and what the session is told.
        told = (b"[TRUNCATED]", b"tokcap: warning: the session ")
        if marks := [line for line in words.splitlines() if line.startswith(told)]:
            shown = b"\n".join([shown.rstrip(b"\n"), *marks, b""])
        return shown.decode("utf-8", "replace")

    return cap


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def answered(data: bytes, request: Request, env: Environment) -> tuple[bytes, bytes, Done]:
    """Return what is written about an output: the answer, and tokcap's own words."""
    from tokcap.source.given import GivenBytes

    shown, words = bytearray(), bytearray()
    inner = env.replace(collect=lambda place, data: (words if place == OWN_WORDS else shown).extend(data))
    done = run_tolerantly(request, inner, lambda *_: GivenBytes(data))
    return bytes(shown), bytes(words), done


def without_blobs(text: str, request: Request, env: Environment) -> str:
    """Return a text that does not fit with a line for each blob of base64 in it, which is stored."""
    from tokcap.core.payload import TextPayload
    from tokcap.mcp.capping import folded
    from tokcap.tokens import open_index, open_tokenizer

    index = open_index(TextPayload(encoded(text)), open_tokenizer(request.tokenizer))
    if index.reach((request.token_limit or 0) + 1) <= (request.token_limit or 0):
        return text
    return folded(text, request.tokenizer, lambda text: stored(encoded(text), request, env), env.reader)[0]


def described(text: str, kind: str, request: Request, env: Environment) -> str:
    """Return a line about an image or audio in base64, which is stored; empty if it fits, by an estimate."""
    from tokcap.mcp.media import media_in

    media = media_in(text, kind, request.tokenizer)
    if media is None or request.token_limit is None or (media.tokens or 0) <= request.token_limit:
        return ""
    handle = stored(media.data, request.replace(clean=False, redact=False), env)
    return f"[{media.words()}; {env.reader.call(handle) if handle else 'could not be stored'}]"


def stored(data: bytes, request: Request, env: Environment) -> str | None:
    """Store an output and return its handle; None if that failed."""
    whole = request.replace(spill="always", mode="handle_only", session="", repeat="full")
    return answered(data, whole, env)[2].response.meta.handle


class HookRun:
    """`tokcap hook run`, which an agent waits for before or after each of its tools."""

    def answer(self, words: Sequence[str], env: Environment) -> int:
        """Answer the event on standard input."""
        from tokcap.hooks.handler import run

        return run(words, env, lambda agent, wanted, *of_event: cap_for(agent, wanted, env, *of_event))


HOOK_RUN = HookRun()
