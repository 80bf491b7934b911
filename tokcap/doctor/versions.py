"""tokcap itself, the Python it runs in, and the tokenizers that other packages add to it."""

from __future__ import annotations

import os
import shutil
import sys
from importlib import metadata
from typing import TYPE_CHECKING

import tokcap
from tokcap.doctor.finding import Finding, note, ok, wrong
from tokcap.doctor.packages import pip
from tokcap.hooks.handler import own_program
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment

PLUGIN_GROUP = "tokcap.tokenizers"


def check(env: Environment) -> Iterator[Finding]:
    """Versions, each with what follows from it."""
    yield own_version(env)
    python = ".".join(map(str, sys.version_info[:3]))
    yield ok("python", f"{python}, {sys.executable or 'an unknown program'}")
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
