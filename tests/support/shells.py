"""The programs of tokcap as an installer would write them, and calls of shells that can be compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

from tests.support.program import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.nasty_lines import Line


# What tokcap says about pipelines. No shell says anything like it.
ABOUT_PIPELINES = re.compile(
    rb"^\[[^\]\n]*(?:tokens before|stage \d+ exited|more pipelines)[^\]\n]*\]\n", re.MULTILINE
)


class Outcome(NamedTuple):
    out: bytes
    err: bytes
    # Negative for a signal, as `subprocess` has it.
    status: int


def install_programs(directory: Path) -> Path:
    """Write the programs of `bin/` with the path of Python, as an installer does. Return their directory."""
    directory.mkdir(exist_ok=True)
    first = f"#!{sys.executable}\n"
    if " " in first:
        # As uv does: the system takes a blank for the end of the path.
        first = f"#!/bin/sh\n'''exec' \"{sys.executable}\" \"$0\" \"$@\"\n' '''\n"
    for program in (ROOT / "bin").iterdir():
        script = directory / program.name
        script.write_text(program.read_text().replace("#!python\n", first))
        script.chmod(0o755)
    return directory


def fill_directory(directory: Path) -> Path:
    """Make the files that the nasty lines use."""
    (directory / "sub").mkdir(parents=True)
    (directory / "a-file").write_text("not a program\n")
    (directory / "b c").write_text("blank\n")
    (directory / "new\nline").write_text("odd name\n")
    (directory / "--dash").write_text("dash\n")
    (directory / "é'\"$x").write_text("quotes\n")
    (directory / "environment").write_text("FROM_ENV=set\n")
    (directory / "functions").write_text('hello() { echo "hello $1"; }\n')
    (directory / "script").write_text('echo "$0 $1 $#"; echo to stderr >&2; exit 4\n')
    return directory


def without_lines_about_pipelines(text: bytes) -> bytes:
    return ABOUT_PIPELINES.sub(b"", text)


def run_line(
    program: str,
    line: Line,
    directory: Path,
    *,
    one_pipe: bool = False,
    variables: dict[str, str] | None = None,
) -> Outcome:
    """Run a shell with the arguments and inputs of a line, in a directory of its own."""
    read, write = os.pipe()
    try:
        os.write(write, line.third or b"")
        os.close(write)

        def give_third() -> None:
            if line.third is not None:
                os.dup2(read, 3)

        done = subprocess.run(
            [program, *line.words],
            input=line.stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if one_pipe else subprocess.PIPE,
            cwd=fill_directory(directory),
            env={**os.environ, **(variables or {}), **dict(line.variables)},
            preexec_fn=give_third,
            close_fds=False,
            start_new_session=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(read)
    out, err = done.stdout, done.stderr or b""
    if one_pipe:
        out = without_lines_about_pipelines(out)
    elif err != (err := without_lines_about_pipelines(err)) and not out.endswith(b"\n"):
        # They begin on a new line.
        err = err.removesuffix(b"\n")
    # bash names the process group if it cannot have the terminal.
    out, err = (re.sub(rb"process group \(-?\d+\)", b"process group", text) for text in (out, err))
    return Outcome(out, err, done.returncode)
