"""Completion scripts and the man page: whether they are where shells and `man` look, and of this version."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

from tokcap.cli.completions import SHELLS
from tokcap.doctor.finding import Finding, note, ok
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeAlias

    from tokcap.cli.completions import Shell
    from tokcap.environment import Environment

    ScriptOf: TypeAlias = Callable[[Shell], bytes]

# Below each directory for shared data.
SCRIPTS: Mapping[Shell, tuple[str, ...]] = {
    "bash": ("bash-completion/completions/tokcap",),
    "zsh": ("zsh/site-functions/_tokcap", "zsh/vendor-completions/_tokcap"),
    "fish": ("fish/vendor_completions.d/tokcap.fish",),
}
# Below the home directory: where a script of one's own goes, and the file that may load it instead.
OWN: Mapping[Shell, tuple[str, str]] = {
    "bash": (".local/share/bash-completion/completions/tokcap", ".bashrc"),
    "zsh": (".zfunc/_tokcap", ".zshrc"),
    "fish": (".config/fish/completions/tokcap.fish", ".config/fish/config.fish"),
}
LOADING = b"tokcap completion"
LARGEST_BYTES = 1 << 20


def check(env: Environment, script_of: ScriptOf) -> Iterator[Finding]:
    """Every shell that is installed here, and the man page."""
    for shell in SHELLS:
        if shutil.which(shell, path=env.variables.get("PATH")):
            yield of_shell(shell, script_of(shell), env)
    yield man_page(env)


def of_shell(shell: Shell, script: bytes, env: Environment) -> Finding:
    own, start_file = (os.path.join(env.home(), name) for name in OWN[shell])
    if LOADING in content(start_file):
        return ok(shell, f"completion is loaded by {start_file}")
    shared = (os.path.join(base, name) for base in data_directories(env) for name in SCRIPTS[shell])
    for path in (own, *shared):
        found = content(path)
        if found == script:
            return ok(shell, f"completion in {path}")
        if found:
            return note(
                shell,
                f"completion in {path} is of another version",
                f"tokcap completion {shell} > {quoted(path)}",
            )
    if shell == "zsh":
        # Where it looks for functions is known to itself alone.
        return note(
            shell,
            "no completion was found",
            f"echo 'source <(tokcap completion zsh)' >> {quoted(start_file)}",
        )
    directory = quoted(os.path.dirname(own))
    return note(
        shell, "no completion was found", f"mkdir -p {directory} && tokcap completion {shell} > {quoted(own)}"
    )


def man_page(env: Environment) -> Finding:
    named = [path for path in env.variables.get("MANPATH", "").split(":") if path]
    for base in (*named, *(os.path.join(base, "man") for base in data_directories(env))):
        for name in ("tokcap.1", "tokcap.1.gz"):
            path = os.path.join(base, "man1", name)
            if os.path.exists(path):
                return ok("man page", path)
    python = quoted(sys.executable or "python3")
    return note("man page", "none was found", f"{python} -m pip install --force-reinstall --no-deps tokcap")


def data_directories(env: Environment) -> list[str]:
    """Where programs have their shared data, ours first."""
    own = env.variables.get("XDG_DATA_HOME") or os.path.join(env.home(), ".local/share")
    others = env.variables.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
    return list(dict.fromkeys([os.path.join(sys.prefix, "share"), own, *filter(None, others.split(":"))]))


def content(path: str) -> bytes:
    """What a file holds; nothing if that cannot be read."""
    try:
        if not os.path.isfile(path):
            return b""
        with open(path, "rb") as file:
            return file.read(LARGEST_BYTES)
    except OSError:
        return b""
