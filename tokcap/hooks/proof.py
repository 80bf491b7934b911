"""Prove that an installed hook works here: run what the agent would run, and look at the result."""

from __future__ import annotations

import subprocess

from tokcap.errors import TokcapError
from tokcap.hooks.manage import how_to_start
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.tokens import open_tokenizer

if TYPE_CHECKING:
    from tokcap.hooks.base import Agent, Capping, Installation, Place

LINES, STATUS = 60_000, 7
COMMAND = f"yes 'tokcap hook status' | head -n {LINES}; exit {STATUS}"
TIMEOUT_SECONDS = 60
MARK = "[TRUNCATED]"


class Proof(Record):
    """What was found out about one hook."""

    works: bool
    line: str


def prove(agent: Agent, path: str, found: Installation, place: Place, capping: Capping) -> Proof:
    """Run the agent's shell with a long output, or send an event with one. `capping` is what applies."""
    limit, tokens, text, counts = capping.limit_tokens, 0, "", ""
    try:
        if agent.shell_words(path, "")[0]:
            problem, text = by_shell(agent, path, place)
        else:
            problem, text = by_event(agent, found, place, capping)
        tokenizer = open_tokenizer(capping.tokenizer)
        tokens = tokenizer.count(text)
        counts = f"({capping.tokenizer}{', an estimate' if tokenizer.units_per_token > 1 else ''})"
    except TokcapError as error:
        problem = str(error)
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError) as error:
        problem = f"{type(error).__name__}: {error}"
    if not problem and MARK not in text:
        problem = "the output was not capped"
    if not problem and tokens > limit:
        problem = f"{tokens} tokens were shown, {limit} are allowed"
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
    return problem, done.stdout.decode("utf-8", "replace")


def by_event(agent: Agent, found: Installation, place: Place, capping: Capping) -> tuple[str, str]:
    from tokcap.hooks.handler import answer_event

    event = agent.sample_event("tokcap hook status\n" * LINES)
    wanted = found.but(program=found.program or "tokcap")
    answer = answer_event(agent, event, wanted, place.variables, lambda *_: capping)
    return ("" if answer else "the result was not replaced"), agent.text_of_answer(answer or {})
