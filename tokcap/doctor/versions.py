"""Check tokcap itself, the Python that runs it, and the tokenizers that other packages add."""

from __future__ import annotations

import os
import shutil
import sys
from importlib import metadata
from typing import TYPE_CHECKING

import tokcap
from tokcap.doctor.finding import Finding, note, ok, wrong
from tokcap.hooks.handler import own_program
from tokcap.system.installation import installation
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment

PLUGIN_GROUP = "tokcap.tokenizers"


def check(env: Environment) -> Iterator[Finding]:
    """Check the versions."""
    yield check_tokcap(env)
    python = ".".join(map(str, sys.version_info[:3]))
    yield ok("python", f"{python}, {sys.executable or 'an unknown program'}")
    yield check_compiled_code()
    yield from check_plugins()


def check_tokcap(env: Environment) -> Finding:
    """Check whether `tokcap show`, which marks tell readers to run, starts this tokcap."""
    here = f"{tokcap.__version__}, {os.path.dirname(tokcap.__file__)}"
    found = shutil.which("tokcap", path=env.variables.get("PATH"))
    if found is None:
        message = f"{here}; tokcap is not on PATH, but the command in a mark needs it"
        return note("tokcap", message, f'export PATH="{os.path.dirname(sys.executable)}:$PATH"')
    own = own_program(sys.argv[0])
    if os.path.isabs(own) and os.path.basename(own) == "tokcap" and not same_file(own, found):
        return note("tokcap", f"{here}; PATH has a different one: {found}", f"{quoted(found)} --version")
    return ok("tokcap", here)


def check_compiled_code() -> Finding:
    """Check whether the package has the C code that counts small outputs."""
    from tokcap.tokens.native_text import native_encoder

    if native_encoder("cl100k_base"):
        return ok("compiled", "small texts are counted by compiled code")
    message = (
        "tokcap was built without a C compiler, and counts slower; install one, and then tokcap once more"
    )
    return note("compiled", message, installation().reinstall())


def same_file(first: str, second: str) -> bool:
    try:
        return os.path.samefile(first, second)
    except OSError:
        return False


def check_plugins() -> Iterator[Finding]:
    """Check whether the tokenizers of other packages can be loaded."""
    for entry in metadata.entry_points(group=PLUGIN_GROUP):
        try:
            entry.load()
        except Exception as error:
            # Code of another package can raise anything.
            package = entry.dist.name if entry.dist else entry.value.partition(".")[0]
            yield wrong(
                entry.name,
                f"this tokenizer cannot be loaded: {error!r}",
                installation().repair(package),
            )
        else:
            yield ok(entry.name, f"a tokenizer, {entry.value}")
