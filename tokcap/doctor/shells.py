"""Check whether shells and `man` find the completion scripts and the man page of this version."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

from tokcap.cli.completions import SHELLS
from tokcap.doctor.finding import Finding, note, ok
from tokcap.doctor.packages import pip
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokcap.cli.completions import Shell
    from tokcap.environment import Environment

# Paths below each directory for shared data.
SCRIPTS: Mapping[Shell, tuple[str, ...]] = {
    "bash": ("bash-completion/completions/tokcap",),
    "zsh": ("zsh/site-functions/_tokcap", "zsh/vendor-completions/_tokcap"),
    "fish": ("fish/vendor_completions.d/tokcap.fish",),
}
# Paths below the home directory: the user's own script, and the start-up file that may load it instead.
OWN: Mapping[Shell, tuple[str, str]] = {
    "bash": (".local/share/bash-completion/completions/tokcap", ".bashrc"),
    "zsh": (".zfunc/_tokcap", ".zshrc"),
    "fish": (".config/fish/completions/tokcap.fish", ".config/fish/config.fish"),
}
LOADING = b"tokcap completion"
MAX_SCRIPT_BYTES = 1 << 20


def check(env: Environment) -> Iterator[Finding]:
    """Check every installed shell, and the man page."""
    from tokcap.cli.commands.completion import script

    for shell in SHELLS:
        if shutil.which(shell, path=env.variables.get("PATH")):
            yield check_shell(shell, script(shell), env)
    yield check_man_page(env)


def check_shell(shell: Shell, script: bytes, env: Environment) -> Finding:
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
                f"completion in {path} is from another version",
                f"tokcap completion {shell} > {quoted(path)}",
            )
    if shell == "zsh":
        # Only zsh itself knows where it looks for functions.
        return note(
            shell,
            "no completion found",
            f"echo 'source <(tokcap completion zsh)' >> {quoted(start_file)}",
        )
    directory = quoted(os.path.dirname(own))
    return note(
        shell, "no completion found", f"mkdir -p {directory} && tokcap completion {shell} > {quoted(own)}"
    )


def check_man_page(env: Environment) -> Finding:
    named = [path for path in env.variables.get("MANPATH", "").split(":") if path]
    for base in (*named, *(os.path.join(base, "man") for base in data_directories(env))):
        for name in ("tokcap.1", "tokcap.1.gz"):
            path = os.path.join(base, "man1", name)
            if os.path.exists(path):
                return ok("man page", path)
    return note("man page", "not found", pip("tokcap", "--force-reinstall", "--no-deps"))


def data_directories(env: Environment) -> list[str]:
    """Return the directories for shared data, those of this installation first."""
    own = env.variables.get("XDG_DATA_HOME") or os.path.join(env.home(), ".local/share")
    others = env.variables.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
    return list(dict.fromkeys([os.path.join(sys.prefix, "share"), own, *filter(None, others.split(":"))]))


def content(path: str) -> bytes:
    """Return the contents of a file; empty if it cannot be read."""
    try:
        if not os.path.isfile(path):
            return b""
        with open(path, "rb") as file:
            return file.read(MAX_SCRIPT_BYTES)
    except OSError:
        return b""
