"""Where the package and the checkout are, ways to call the program, and what a call has returned."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema

import tokcap
from tests.support import hidden_failures
from tokcap.__main__ import call
from tokcap.environment import Environment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The Python of the tests as a word for shells: the path of a checkout can have blanks in it.
PYTHON = shlex.quote(sys.executable)
ROOT = Path(__file__).parents[2]
# The tests use the package that is installed: this checkout, or a wheel that was built from it.
PACKAGE = Path(tokcap.__file__).parent
IMPORT_PATH = os.pathsep.join((str(PACKAGE.parent), str(ROOT)))
# The path without environments in which tokcap is installed: `man` and shells look for pages and completions
# beside the directories of PATH, and would find those.
SYSTEM_PATH = os.pathsep.join(
    [
        *(place for place in os.get_exec_path() if not Path(place, "tokcap").exists()),
        *("/usr/bin", "/bin"),
    ]
)
SCHEMA = json.loads((ROOT / "tests" / "envelope.schema.json").read_text())
# `jsonschema.validate` would check the schema itself in each call, which takes ten times as long.
ENVELOPE = jsonschema.validators.validator_for(SCHEMA)(SCHEMA)
ENVELOPE.check_schema(SCHEMA)


@dataclass(frozen=True)
class Ran:
    status: int
    out: bytes
    err: bytes

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def data_text(self) -> bytes:
        """The value of `data` exactly as it is written."""
        return self.out[self.out.index(b'"data":') + 7 : self.out.rindex(b',"error":')]


def checked(args: Sequence[str], ran: Ran) -> Ran:
    """Compare every JSON response with the schema, and look for failures that the program hides."""
    wants_json = ("--output=json" in args) or (
        "json" in args and args[args.index("json") - 1] in ("-o", "--output")
    )
    if wants_json and ran.out:
        envelope = json.loads(ran.out)
        ENVELOPE.validate(envelope)
        assert list(envelope) == ["ok", "data", "error", "warnings", "meta"]
        assert envelope["ok"] == (ran.status == 0)
    assert b"Traceback" not in ran.err
    hidden_failures.look_at(ran.out, ran.err)
    return ran


def run_process(*args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None, **options) -> Ran:
    """Call the program as a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tokcap", *args],
        input=stdin,
        capture_output=True,
        env={**os.environ, **(env or {})},
        timeout=120,
        check=False,
        **options,
    )
    return checked(args, Ran(done.returncode, done.stdout, done.stderr))


def run_inside(args: Sequence[str], stdin: bytes, variables: Mapping[str, str]) -> Ran:
    """Call the program in this process, with exactly these environment variables."""
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        given.write(stdin)
        given.seek(0)
        status = call(args, Environment({**variables}, given.fileno(), out.fileno(), err.fileno()))
        out.seek(0)
        err.seek(0)
        return checked(args, Ran(status, out.read(), err.read()))
