"""Variables that look like tokcap's and are none of them: a misspelt one has no effect, without a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcap.cli.options import OPTIONS
from tokcap.core.spelling import nearest
from tokcap.doctor.finding import Finding, note, ok, wrong
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment

PREFIX = "TOKCAP_"
# Those that belong to no option.
OTHERS = ("TOKCAP_CONFIG", "TOKCAP_DATA_DIR", "TOKCAP_SHELL")
KNOWN = (*(option.variable for option in OPTIONS if option.ambient), *OTHERS)
ABOUT_ONE_OUTPUT = {option.variable: option.flag for option in OPTIONS if not option.ambient}

# How much alike two names are: with our prefix, and without it.
LIKE, MUCH_LIKE = 0.75, 0.88


def check(env: Environment) -> Iterator[Finding]:
    """Every variable that somebody may have meant for tokcap."""
    found = 0
    for name in sorted(env.variables):
        if name in KNOWN:
            found += 1
        elif name in ABOUT_ONE_OUTPUT:
            flag = ABOUT_ONE_OUTPUT[name]
            yield wrong(name, f"has no effect: {flag} is about one output, and no setting", f"unset {name}")
        else:
            yield from misspelt(name, env.variables[name])
    yield ok("known", f"{found} set" if found else "none is set")


def misspelt(name: str, value: str) -> Iterator[Finding]:
    is_ours = name.startswith(PREFIX)
    near = nearest(name.upper(), KNOWN, LIKE if is_ours else MUCH_LIKE)
    if near:
        yield wrong(
            name,
            f"has no effect; did you mean {near}?",
            f"unset {quoted(name)}; export {near}={quoted(value)}",
        )
    elif is_ours:
        yield note(name, "is no variable of tokcap, and has no effect on it", f"unset {quoted(name)}")
