"""Check the program (versions, compiled code, bytecode), and the vocabularies that the user has added."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import cache_from_source
from typing import TYPE_CHECKING

import tokcap
from tokcap.doctor.examination import Finding, fact, note, wrong
from tokcap.environment import own_path
from tokcap.errors import TokcapError
from tokcap.system.installation import installation
from tokcap.system.quoting import quoted
from tokcap.tokens import added, adding
from tokcap.tokens.embedded import is_compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment


def check(env: Environment) -> Iterator[Finding]:
    """Check the program that runs, and the one that marks name."""
    directory = os.path.dirname(tokcap.__file__)
    python = ".".join(map(str, sys.version_info[:3]))
    yield fact("tokcap", f"{tokcap.__version__} in {directory}, Python {python}")
    yield from check_program(shutil.which("tokcap", path=env.variables.get("PATH")))
    if not is_compiled():
        message = "tokcap was built without a C compiler, and counts slower; install one, then tokcap again"
        yield note("compiled", message, installation().again)
    if not os.path.exists(cache_from_source(__file__)):
        message = "Python cannot write it here, so each call takes several times as long; the owner can"
        command = f"{quoted(sys.executable)} -m compileall -q {quoted(directory)}"
        yield note("bytecode", message, command)


def check_program(found: str | None) -> Iterator[Finding]:
    """Check whether `tokcap show`, which marks tell readers to run, starts this tokcap."""
    if found is None:
        message = "not on PATH, but the command in a mark needs it"
        yield note("tokcap", message, f'export PATH="{os.path.dirname(sys.executable)}:$PATH"')
        return
    own = own_path(sys.argv[0])
    if os.path.isabs(own) and os.path.basename(own) == "tokcap" and not os.path.samefile(own, found):
        yield note("tokcap", f"PATH has a different one: {found}", f"{quoted(found)} --version")


def check_vocabularies(env: Environment) -> Iterator[Finding]:
    """Check whether the compiled files of each added tokenizer are what was written."""
    for name in added.names(env):
        remedy = f"tokcap tokenizer remove {name}"
        try:
            if not adding.is_intact(adding.described(name, env), env):
                problem = "its compiled files are damaged, so counts are wrong; add it again after this"
                yield wrong(name, problem, remedy)
        except TokcapError as error:
            yield wrong(name, str(error), remedy)
