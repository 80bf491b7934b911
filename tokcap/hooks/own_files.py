"""The files that tokcap writes for an agent: a shell, a start-up file of bash, a plug-in.

They are in the directory `tokcap` next to the agent's settings, or where the agent looks for plug-ins. Their
first lines name the installation, so that it can be read back.
"""

from __future__ import annotations

import os

from tokcap.errors import HookRefused
from tokcap.hooks.atomic_files import replace
from tokcap.hooks.base import OF_AGENT, Installation
from tokcap.hooks.bash_env import bash_env
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.system.quoting import always_quoted, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

MARK = "tokcap hook: "
# How the stand-in for a shell and the start-up file get the options of an installation.
VARIABLES = {
    "--token-limit": "TOKCAP_TOKEN_LIMIT",
    "--session": "TOKCAP_SESSION",
    "--repeat": "TOKCAP_REPEAT",
    "--keep": "TOKCAP_KEEP",
    "--tokenizer": "TOKCAP_TOKENIZER",
}
EXECUTABLE, READABLE = 0o755, 0o644


def directory_for(path: str) -> str:
    """Return the directory of our files for a settings file."""
    return os.path.join(os.path.dirname(path), "tokcap")


class OwnFile(Record):
    """A file that belongs to tokcap alone."""

    path: str
    text: str
    mode: int = READABLE

    def write(self) -> bool:
        """Write the file; return False if it is there already."""
        before = read(self.path)
        if before == self.text and os.stat(self.path).st_mode & 0o777 == self.mode:
            return False
        if before is not None and MARK not in before:
            raise HookRefused(f"{self.path}: belongs to somebody else; not changed")
        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            replace(self.path, self.text.encode("utf-8", "surrogateescape"))
            os.chmod(self.path, self.mode)
        except OSError as error:
            raise HookRefused(f"{self.path}: {error.strerror}; not changed") from None
        return True

    def remove(self) -> bool:
        """Remove the file, and its directory if that is empty; return False if there is none of ours."""
        before = read(self.path)
        if before is None or MARK not in before:
            return False
        try:
            os.unlink(self.path)
            os.rmdir(os.path.dirname(self.path))
        except OSError:
            # Other files are in the directory.
            pass
        return not os.path.exists(self.path)


def read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HookRefused(f"{path}: {error.strerror}") from None


def marked(wanted: Installation) -> str:
    """Return the text from which `installation_in` reads an installation."""
    return MARK + " ".join(map(quoted, (wanted.program, *wanted.options)))


def installation_in(text: str) -> Installation:
    """Return the installation that a file was written for."""
    import shlex

    line = text.partition(MARK)[2].partition("\n")[0]
    try:
        words = shlex.split(line)
    except ValueError:
        words = []
    return Installation(words[0], tuple(words[1:])) if words else Installation("")


def variables_of(wanted: Installation) -> dict[str, str]:
    """Return the variables that tell tokcap the options."""
    given = {VARIABLES[flag]: wanted.option(flag) for flag in VARIABLES}
    return {name: value for name, value in given.items() if value and value != OF_AGENT}


def beside(program: str, name: str) -> str:
    """Return another program of tokcap: in the directory of this one, or by its name."""
    return os.path.join(os.path.dirname(program), name) if "/" in program else name


def shell_file(path: str, shell: str, wanted: Installation, more: Mapping[str, str]) -> OwnFile:
    """Return a program that is `tokcap-bash` with options. It has the shell's name: agents look at it.

    `more` are other variables of tokcap.
    """
    program = always_quoted(beside(wanted.program, f"tokcap-{shell}"))
    variables = {**variables_of(wanted), **more}
    lines = [
        "#!/bin/sh",
        f"# {marked(wanted)}",
        f"# {shell}, with what it prints capped by tokcap. If tokcap is gone, it is {shell} itself.",
        f"if command -v {program} > /dev/null 2>&1; then",
        *(f"  export {name}={always_quoted(value)}" for name, value in variables.items()),
        f'  exec {program} "$@"',
        "fi",
        f'exec {shell} "$@"',
    ]
    return OwnFile(os.path.join(directory_for(path), shell), "\n".join(lines) + "\n", EXECUTABLE)


def start_up_file(path: str, wanted: Installation, more: Mapping[str, str]) -> OwnFile:
    """Return a start-up file for BASH_ENV with options, and with other variables of tokcap."""
    program = beside(wanted.program, "tokcap-bash")
    text = bash_env(program, {**variables_of(wanted), **more})
    return OwnFile(os.path.join(directory_for(path), "bash_env.sh"), f"# {marked(wanted)}\n{text}")
