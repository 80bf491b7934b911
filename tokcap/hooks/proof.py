"""Prove that an installed hook works here: run what the agent would run, and look at the result."""

from __future__ import annotations

import subprocess

from tokcap.hooks.manage import how_to_start
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.tokens import open_tokenizer

if TYPE_CHECKING:
    from tokcap.hooks.base import Agent, Installation, Place

LINES, STATUS = 60_000, 7
COMMAND = f"yes 'tokcap hook status' | head -n {LINES}; exit {STATUS}"
TIMEOUT_SECONDS = 60
MARK = "[TRUNCATED]"


class Proof(Record):
    """What was found out about one hook."""

    works: bool
    line: str


def prove(agent: Agent, path: str, found: Installation, place: Place) -> Proof:
    """Run the agent's shell with a long output, or send an event with one."""
    try:
        problem, text = (by_shell if agent.shell_words(path, "")[0] else by_event)(agent, path, found, place)
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError) as error:
        problem, text = f"{type(error).__name__}: {error}", ""
    limit = int(found.option("--token-limit") or place.variables.get("TOKCAP_TOKEN_LIMIT") or "4000")
    tokens = open_tokenizer(found.option("--tokenizer") or "cl100k_base").count(text)
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
        f"{agent.name}: works: {LINES} lines were capped to {tokens} of {limit} tokens"
        + (f"; {needed}" if needed else ""),
    )


def by_shell(agent: Agent, path: str, found: Installation, place: Place) -> tuple[str, str]:
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


def by_event(agent: Agent, path: str, found: Installation, place: Place) -> tuple[str, str]:
    from tokcap.hooks.handler import cap_by, launch_options

    cap = cap_by(found.program or "tokcap", launch_options(found, place.variables), place.variables)
    text = "tokcap hook status\n" * LINES
    answer = agent.answer(agent.sample_event(text), found, cap)
    return ("" if answer else "the result was not replaced"), agent.text_of_answer(answer or {})
