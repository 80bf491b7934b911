"""Packages that tokcap needs, or can use: there or not, and of which version."""

from __future__ import annotations

import re
import sys
from importlib import import_module, metadata
from typing import TYPE_CHECKING

from tokcap.doctor.finding import Finding, note, ok, wrong
from tokcap.lean.record import Record
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment

# The extra for those who work on tokcap itself.
OWN_EXTRA = "test"
# What the others are for.
USES = {"bulk": "large counts", "mcp": "tokcap mcp", "plot": "tokcap stats --plot"}


# Where these fail tokcap does without, and says nothing. The others say so when they are asked for, and are
# not loaded here: matplotlib writes to the home directory then.
SILENT = ("bulk",)


class Requirement(Record):
    """A package, the versions of it that serve, and the extra that asks for it."""

    name: str
    # As pip takes it: `mcp<3,>=2.0`.
    wanted: str
    least: str = ""
    below: str = ""
    extra: str = ""

    def problem(self) -> str:
        """What is wrong with the version that is installed; empty: nothing."""
        version = metadata.version(self.name)
        if self.least and numbers(version) < numbers(self.least):
            return f"{version} is too old: {self.least} is needed"
        if self.below and numbers(version) >= numbers(self.below):
            return f"{version} is too new: one below {self.below} is needed"
        return ""


def check(_env: Environment) -> Iterator[Finding]:
    """Everything that the metadata of tokcap names."""
    try:
        required = [requirement_of(text) for text in metadata.requires("tokcap") or ()]
    except metadata.PackageNotFoundError:
        message = "tokcap runs without being installed, so what it needs is not known"
        yield note("dependencies", message, pip("tokcap"))
        return
    for requirement in required:
        if not requirement.extra:
            yield dependency(requirement)
    for extra in dict.fromkeys(requirement.extra for requirement in required):
        if extra and extra != OWN_EXTRA:
            yield optional(extra, [one for one in required if one.extra == extra])


def requirement_of(text: str) -> Requirement:
    """`mcp<3,>=2.0; extra == 'mcp'`, as the metadata of a package has it."""
    wanted, _, marker = text.replace(" ", "").partition(";")
    found = re.match(r"[\w.-]+", wanted)
    name = found.group() if found else wanted
    bounds = wanted[len(name) :].split(",")
    return Requirement(
        name,
        wanted,
        least=next((bound[2:] for bound in bounds if bound.startswith(">=")), ""),
        below=next((bound[1:] for bound in bounds if bound.startswith("<") and bound[1:2] != "="), ""),
        extra=marker.partition("extra==")[2].strip("'\""),
    )


def dependency(needed: Requirement) -> Finding:
    """Without it tokcap does not work, or only in part."""
    if not is_installed(needed.name):
        return wrong(needed.name, "is not installed", pip(needed.wanted))
    if problem := problem_loading(needed):
        return wrong(needed.name, problem, f"{pip(needed.wanted)} --force-reinstall")
    if problem := needed.problem():
        return wrong(needed.name, problem, pip(needed.wanted))
    return ok(needed.name, metadata.version(needed.name))


def problem_loading(package: Requirement) -> str:
    """Why it cannot be loaded; empty: it can."""
    try:
        import_module(package.name)
    except Exception as error:
        # A library can fail with anything while it is loaded.
        return f"cannot be loaded: {error}"
    return ""


def optional(extra: str, packages: list[Requirement]) -> Finding:
    """What `pip install tokcap[NAME]` adds."""
    use = f"for {USES[extra]}" if extra in USES else "optional"
    missing = [package.name for package in packages if not is_installed(package.name)]
    install = pip(f"tokcap[{extra}]")
    if missing:
        return ok(extra, f"{use}: {', '.join(missing)} is not installed; to have it: {install}")
    for package in packages:
        if problem := package.problem() or (problem_loading(package) if extra in SILENT else ""):
            return note(extra, f"{use}: {package.name} {problem}", install)
    found = [f"{package.name} {metadata.version(package.name)}" for package in packages]
    return ok(extra, f"{use}: {', '.join(found)}")


def is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def numbers(version: str) -> list[int]:
    """The numbers that a version begins with: enough to tell an older one."""
    found = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        found.append(int(digits))
    return found


def pip(package: str) -> str:
    return f"{quoted(sys.executable or 'python3')} -m pip install {quoted(package)}"
