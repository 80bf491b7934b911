"""Check tokcap itself, the Python that runs it, and the tokenizers that other packages add."""

from __future__ import annotations

import os
import shutil
import sys
from importlib import metadata
from importlib.util import MAGIC_NUMBER, cache_from_source
from typing import TYPE_CHECKING

import tokcap
from tokcap.doctor.finding import Finding, note, ok, wrong
from tokcap.hooks.handler import own_program
from tokcap.system.installation import distribution, installation, source_of
from tokcap.system.quoting import quoted
from tokcap.system.shell import start_of

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
    yield from check_bytecode()
    yield from check_plugins()


def check_tokcap(env: Environment) -> Finding:
    """Check whether `tokcap show`, which marks tell readers to run, starts this tokcap."""
    here = f"{tokcap.__version__}, {os.path.dirname(tokcap.__file__)}"
    found = shutil.which("tokcap", path=env.variables.get("PATH"))
    if found is None:
        message = f"{here}; tokcap is not on PATH, but the command in a mark needs it"
        return note("tokcap", message, f'export PATH="{os.path.dirname(sys.executable)}:$PATH"')
    if finding := check_first_line(found):
        return finding
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


def check_first_line(program: str) -> Finding | None:
    """Check whether the system finds the Python that a script names. There, a blank ends the path."""
    before, _, rest = os.fsdecode(start_of(program).partition(b"\n")[0]).partition("#!")
    named = rest.split()[:1]
    if before or not named or os.path.exists(named[0]):
        return None
    remedy = installation().reinstall()
    if " " in sys.executable:
        # pip writes such a path as it is; uv writes a script that works.
        python, source = quoted(sys.executable), quoted(source_of(distribution())[0])
        remedy = f"uv pip install --reinstall --no-deps --python {python} {source}"
    message = f"{program} cannot be started: its first line names {named[0]}, which does not exist"
    return wrong("tokcap", message, remedy)


def check_bytecode() -> Iterator[Finding]:
    """Report that each call compiles the modules that it loads."""
    if not has_bytecode(__file__):
        message = "Python cannot write it here, so each call takes several times as long; the owner can"
        directory = quoted(os.path.dirname(tokcap.__file__))
        yield note("bytecode", message, f"{quoted(sys.executable)} -m compileall -q {directory}")


def has_bytecode(source: str) -> bool:
    """Return whether Python uses the cached bytecode of a module."""
    try:
        with open(cache_from_source(source), "rb") as file:
            header = file.read(16)
        found = os.stat(source)
    except OSError:
        return False
    # A magic number, flags, and the time and size of the source. If there are flags, a digest tells.
    times = (int(found.st_mtime) & 0xFFFFFFFF | (found.st_size & 0xFFFFFFFF) << 32).to_bytes(8, "little")
    return header[:4] == MAGIC_NUMBER and (header[4:8] != bytes(4) or header[8:] == times)


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
