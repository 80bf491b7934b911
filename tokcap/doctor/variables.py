"""Check for variables that look like tokcap's but are unknown: a misspelt one is silently ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcap.cli.options import OPTIONS
from tokcap.cli.synonyms import meanings
from tokcap.core.spelling import nearest
from tokcap.doctor.finding import Finding, note, ok, wrong
from tokcap.environment import FRAME, INSIDE
from tokcap.system.quoting import quoted
from tokcap.system.shell import BECAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment

PREFIX = "TOKCAP_"
# Variables without an option.
OTHERS = (
    "TOKCAP_CONFIG",
    "TOKCAP_DATA_DIR",
    "TOKCAP_SHELL",
    INSIDE,
    FRAME,
    BECAME,
    "TOKCAP_PROGRAM",
    "TOKCAP_SESSION_FROM",
)
KNOWN = (*(option.variable for option in OPTIONS if option.ambient), *OTHERS)
ONLY_OPTIONS = {option.variable: option.flag for option in OPTIONS if not option.ambient}

# How similar a name must be to a known one: with our prefix, and without it.
SIMILARITY, SIMILARITY_WITHOUT_PREFIX = 0.75, 0.88


def check(env: Environment) -> Iterator[Finding]:
    """Check every variable that may be meant for tokcap."""
    found = 0
    for name in sorted(env.variables):
        if name in KNOWN:
            found += 1
        elif name in ONLY_OPTIONS:
            message = f"has no effect: {ONLY_OPTIONS[name]} can only be given on the command line"
            yield wrong(name, message, f"unset {name}")
        else:
            yield from check_unknown(name, env.variables[name])
    yield ok("known", f"{found} set" if found else "none set")


def check_unknown(name: str, value: str) -> Iterator[Finding]:
    has_prefix = name.startswith(PREFIX)
    meant, meant_value = guessed(name) if has_prefix else ("", "")
    meant = meant or nearest(name.upper(), KNOWN, SIMILARITY if has_prefix else SIMILARITY_WITHOUT_PREFIX)
    if meant:
        remedy = f"unset {quoted(name)}; export {meant}={quoted(meant_value or value)}"
        yield wrong(name, f"has no effect; did you mean {meant}?", remedy)
    elif has_prefix:
        yield note(name, "has no effect: not a variable of tokcap", f"unset {quoted(name)}")


def guessed(name: str) -> tuple[str, str]:
    """Return variable and value of an option that other tools call by this name: `TOKCAP_OUTPUT`, `json`."""
    word = name.removeprefix(PREFIX).lower().replace("_", "-")
    for meaning in meanings(word, [option.flag for option in OPTIONS if option.ambient]):
        flag, _, value = meaning.partition(" ")
        return next(((option.variable, value) for option in OPTIONS if option.flag == flag), ("", ""))
    return "", ""
