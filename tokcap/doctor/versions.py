"""tokcap itself, the Python it runs in, what it depends on, and what it can use besides."""

from __future__ import annotations

import os
import shutil
import sys
from importlib import import_module, metadata
from typing import TYPE_CHECKING

import tokcap
from tokcap.doctor.finding import Finding, note, ok, wrong
from tokcap.hooks.handler import own_program
from tokcap.shell import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment

# Extras for those who work on tokcap itself.
OWN_EXTRAS = ("test",)
PLUGIN_GROUP = "tokcap.tokenizers"


def check(env: Environment) -> Iterator[Finding]:
    """Versions, each with what follows from it."""
    yield own_version(env)
    python = ".".join(map(str, sys.version_info[:3]))
    yield ok("python", f"{python}, {sys.executable or 'an unknown program'}")
    try:
        required = metadata.requires("tokcap") or []
    except metadata.PackageNotFoundError:
        yield note(
            "dependencies",
            "tokcap runs without being installed, so what it needs is not known",
            pip("tokcap"),
        )
        required = []
    for requirement in required:
        if "extra ==" not in requirement:
            yield dependency(requirement)
    yield from extras(required)
    yield from plugins()


def own_version(env: Environment) -> Finding:
    """This tokcap, and whether it is the one that a mark's `tokcap show` would start."""
    here = f"{tokcap.__version__}, {os.path.dirname(tokcap.__file__)}"
    found = shutil.which("tokcap", path=env.variables.get("PATH"))
    if found is None:
        scripts = os.path.dirname(sys.executable)
        return note(
            "tokcap",
            f"{here}; PATH has no tokcap, which marks tell to call",
            f'export PATH="{scripts}:$PATH"',
        )
    own = own_program(sys.argv[0])
    if os.path.isabs(own) and os.path.basename(own) == "tokcap" and not same_file(own, found):
        return note("tokcap", f"{here}; PATH has another one: {found}", f"{quoted(found)} --version")
    return ok("tokcap", here)


def same_file(first: str, second: str) -> bool:
    try:
        return os.path.samefile(first, second)
    except OSError:
        return False


def dependency(requirement: str) -> Finding:
    """Whether a package is there, new enough, and can be loaded."""
    name, _, least = requirement.partition(";")[0].replace(" ", "").partition(">=")
    try:
        version = metadata.version(name)
        import_module(name)
    except metadata.PackageNotFoundError:
        return wrong(name, "is not installed", pip(requirement))
    except Exception as error:
        # A library can fail with anything while it is loaded.
        return wrong(name, f"cannot be loaded: {error}", f"{pip(requirement)} --force-reinstall")
    if least and numbers(version) < numbers(least):
        return wrong(name, f"{version} is too old: {least} is needed", pip(requirement))
    return ok(name, version)


def extras(required: list[str]) -> Iterator[Finding]:
    """What `pip install tokcap[NAME]` adds, and whether it is there."""
    by_extra: dict[str, list[str]] = {}
    for requirement in required:
        package, _, marker = requirement.partition(";")
        _, named, extra = marker.partition("extra ==")
        extra = extra.strip().strip("'\"")
        if named and extra not in OWN_EXTRAS:
            by_extra.setdefault(extra, []).append(package.strip())
    for extra, packages in by_extra.items():
        names = [package.replace(" ", "").partition(">=")[0] for package in packages]
        missing = [name for name in names if not is_installed(name)]
        without = f"without {', '.join(missing)}; to have it: {pip(f'tokcap[{extra}]')}"
        yield ok(extra, f"optional, {without if missing else 'installed'}")


def plugins() -> Iterator[Finding]:
    """Tokenizers of other packages."""
    for entry in metadata.entry_points(group=PLUGIN_GROUP):
        try:
            entry.load()
        except Exception as error:
            # Foreign code: whatever it raises is the finding.
            package = entry.dist.name if entry.dist else entry.value.partition(".")[0]
            yield wrong(
                entry.name, f"this tokenizer cannot be loaded: {error!r}", f"{pip(package)} --upgrade"
            )
        else:
            yield ok(entry.name, f"a tokenizer, {entry.value}")


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
