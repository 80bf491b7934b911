"""Ask the shells and `man` whether they find the completion and the man pages of this version."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tokcap.cli.completions.asking import ASKING
from tokcap.cli.completions.installing import move_away, obstacles
from tokcap.cli.completions.targets import TARGETS, ask
from tokcap.doctor.finding import Finding, note, ok

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.cli.completions.targets import Answer, Target
    from tokcap.environment import Environment


def check(env: Environment) -> Iterator[Finding]:
    """Check every shell that is installed, and the man pages."""
    if env.variables.get(ASKING):
        yield ok("shells", "not asked: tokcap itself has started this shell, to ask it")
        return
    path = env.variables.get("PATH")
    targets = [target for name, target in TARGETS.items() if shutil.which(name, path=path)]
    for target, answer in zip(targets, ask(targets, env), strict=True):
        yield finding_of(target, answer, env)
    if not targets:
        yield ok("shells", f"none of {', '.join(TARGETS)} is installed")


def finding_of(target: Target, answer: Answer, env: Environment) -> Finding:
    """Turn the answer of one program into a finding."""
    files = target.files(env, answer)
    if answer.failure:
        return note(target.name, f"could not be asked for the {target.what}: {answer.failure}")
    where = f" in {answer.path}" if answer.path else ""
    if not answer.found:
        return note(target.name, f"does not find the {target.what} of tokcap", remedy(target, answer, env))
    if not target.is_current(answer, files):
        message = f"finds the {target.what} of another version{where}"
        return note(target.name, message, remedy(target, answer, env))
    return ok(target.name, f"finds the {target.what}{where}")


def remedy(target: Target, answer: Answer, env: Environment) -> str:
    """Return the command that makes the program find the files."""
    moves = [move_away(path) for path in obstacles(target.files(env, answer))]
    return " && ".join([*moves, f"tokcap completion install {target.name}"])
