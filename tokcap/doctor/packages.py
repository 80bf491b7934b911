"""Check the packages that tokcap needs or can use: whether they are installed, and in which version."""

from __future__ import annotations

import re
from importlib import import_module, metadata
from typing import TYPE_CHECKING

from tokcap.doctor.finding import Finding, note, ok, wrong
from tokcap.lean.record import Record
from tokcap.system.installation import installation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment

# The extra for developers of tokcap.
OWN_EXTRA = "test"
# What the other extras are for.
USES = {
    "bulk": "large counts",
    "objectstore": "--store s3://",
    "plot": "tokcap stats --plot",
    "tokenizers": "tokcap tokenizer check",
}
# Extras that fail silently, so loading them is tested here. The others report an error when they are used,
# and loading them can have side effects: matplotlib writes to the home directory.
FAILS_SILENTLY = ("bulk",)


class Requirement(Record):
    """A package, the versions that tokcap accepts, and the extra that needs it."""

    name: str
    # As given to pip: `matplotlib<4,>=3.8`.
    specifier: str
    least: str = ""
    below: str = ""
    extra: str = ""

    def version_problem(self) -> str:
        """Return what is wrong with the installed version, or an empty string."""
        version = metadata.version(self.name)
        if self.least and numbers(version) < numbers(self.least):
            return f"{version} is too old: {self.least} is needed"
        if self.below and numbers(version) >= numbers(self.below):
            return f"{version} is too new: a version below {self.below} is needed"
        return ""


def check(_env: Environment) -> Iterator[Finding]:
    """Check every package that the metadata of tokcap names."""
    try:
        required = [requirement_of(text) for text in metadata.requires("tokcap") or ()]
    except metadata.PackageNotFoundError:
        message = "tokcap is not installed as a package, so its requirements are unknown"
        yield note("dependencies", message, installation().reinstall())
        return
    for requirement in required:
        if not requirement.extra:
            yield check_dependency(requirement)
    for extra in dict.fromkeys(requirement.extra for requirement in required):
        if extra and extra != OWN_EXTRA:
            yield check_extra(extra, [one for one in required if one.extra == extra])


def requirement_of(text: str) -> Requirement:
    """Parse a requirement as package metadata has it: `matplotlib<4,>=3.8; extra == 'plot'`."""
    specifier, _, marker = text.replace(" ", "").partition(";")
    found = re.match(r"[\w.-]+", specifier)
    name = found.group() if found else specifier
    bounds = specifier[len(name) :].split(",")
    return Requirement(
        name,
        specifier,
        least=next((bound[2:] for bound in bounds if bound.startswith(">=")), ""),
        below=next((bound[1:] for bound in bounds if bound.startswith("<") and bound[1:2] != "="), ""),
        extra=marker.partition("extra==")[2].strip("'\""),
    )


def check_dependency(needed: Requirement) -> Finding:
    """Check a package without which tokcap does not work, or only in part."""
    if not is_installed(needed.name):
        return wrong(needed.name, "not installed", installation().repair(needed.specifier))
    if problem := loading_problem(needed):
        return wrong(needed.name, problem, installation().repair(needed.specifier))
    if problem := needed.version_problem():
        return wrong(needed.name, problem, installation().repair(needed.specifier))
    return ok(needed.name, metadata.version(needed.name))


def loading_problem(package: Requirement) -> str:
    """Return why a package cannot be loaded, or an empty string."""
    try:
        import_module(package.name)
    except Exception as error:
        # A package can raise anything while it is loaded.
        return f"cannot be loaded: {error}"
    return ""


def check_extra(extra: str, packages: list[Requirement]) -> Finding:
    """Check the packages of an extra."""
    use = f"for {USES[extra]}" if extra in USES else "optional"
    missing = [package.name for package in packages if not is_installed(package.name)]
    install = installation().add(*(package.specifier for package in packages))
    if missing:
        return ok(extra, f"{use}: {', '.join(missing)} is not installed; to install it: {install}")
    for package in packages:
        if problem := package.version_problem() or (
            loading_problem(package) if extra in FAILS_SILENTLY else ""
        ):
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
    """Return the leading numbers of a version, enough to compare versions."""
    found = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        found.append(int(digits))
    return found
