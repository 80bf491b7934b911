"""The files that tokcap writes for an agent: a shell, a start-up file of bash, a plug-in.

They are in the directory `tokcap` next to the agent's settings, or where the agent looks for plug-ins. Their
first lines name the installation, so that it can be read back.
"""

from __future__ import annotations

import os

from tokcap.errors import HookRefused
from tokcap.hooks import settings
from tokcap.hooks.base import Installation
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.system.private_files import change_file, contents_of
from tokcap.system.quoting import always_quoted, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

MARK = "tokcap hook: "
EXECUTABLE, READABLE = 0o755, 0o644
# The sources of what is written.
DATA = os.path.join(os.path.dirname(__file__), "data")
# In the start-up file for BASH_ENV.
PROGRAM = "@tokcap-bash@"
CALL = f"exec {PROGRAM}"


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
            change_file(self.path, contents_of(self.path), self.text.encode("utf-8", "surrogateescape"))
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
    data = settings.read(path)
    return None if data is None else data.decode("utf-8", "surrogateescape")


def marked(wanted: Installation) -> str:
    """Return the text from which `installation_in` reads an installation."""
    return MARK + " ".join(map(quoted, (wanted.program, *wanted.options)))


def installation_in(text: str) -> Installation:
    """Return the installation that a file was written for."""
    words = split_words(text.partition(MARK)[2].partition("\n")[0])
    return Installation(words[0], tuple(words[1:])) if words else Installation("")


def split_words(line: str) -> list[str]:
    """Return the words of a line; none if it was edited and cannot be split."""
    import shlex

    try:
        return shlex.split(line)
    except ValueError:
        return []


def beside(program: str, name: str) -> str:
    """Return another program of tokcap: in the directory of this one, or by its name."""
    return os.path.join(os.path.dirname(program), name) if "/" in program else name


def shell_file(path: str, shell: str, wanted: Installation, more: Mapping[str, str]) -> OwnFile:
    """Return a program that is `tokcap-bash` with options. It has the shell's name: agents look at it.

    `more` are other variables of tokcap.
    """
    program = always_quoted(beside(wanted.program, f"tokcap-{shell}"))
    variables = {**wanted.variables(), **more}
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
    text = bash_env(program, {**wanted.variables(), **more})
    return OwnFile(os.path.join(directory_for(path), "bash_env.sh"), f"# {marked(wanted)}\n{text}")


def bash_env(tokcap_bash: str, variables: Mapping[str, str] | None = None) -> str:
    """Return a start-up file for BASH_ENV, by which a `bash -c STRING` hands over to `tokcap-bash`.

    `tokcap_bash` is the absolute path of that program, or its name, which is then searched for on PATH.
    `variables` are set for it.
    """
    given = "".join(f"{name}={always_quoted(value)} " for name, value in (variables or {}).items())
    program = always_quoted(tokcap_bash) if "/" in tokcap_bash else f'"$(type -P {tokcap_bash})"'
    return source("bash_env.sh").replace(CALL, given + CALL).replace(PROGRAM, program)


def plugin_file(path: str, script: str, name: str, wanted: Installation) -> OwnFile:
    """Return a plug-in in JavaScript, which sends results of tools to `tokcap hook run NAME`.

    An event is `{"text": …}`, or with `file` the path of the whole result; the answer has the capped text.
    """
    import json

    tools = [tool for tool in wanted.option("--tools").split(",") if tool]
    words = [wanted.program, "hook", "run", name, *wanted.options]
    text = source(script).replace('"@tools@"', json.dumps(tools)).replace('"@words@"', json.dumps(words))
    return OwnFile(path, f"// {marked(wanted)}\n{text}")


def source(name: str) -> str:
    with open(os.path.join(DATA, name), encoding="utf-8") as file:
        return file.read()


def event_command(name: str, wanted: Installation) -> str:
    """Return the command that an agent runs for an event.

    With `|| true` the agent still works after tokcap has been uninstalled.
    """
    words = (wanted.program, "hook", "run", name, *wanted.options)
    return " ".join([*map(quoted, words), "|| true"])


def installation_of(command: str) -> Installation:
    """Return the installation that `event_command` wrote a command for."""
    words = split_words(command.removesuffix("|| true"))
    return Installation(words[0], tuple(words[4:])) if words else Installation("")
