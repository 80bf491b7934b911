"""The start-up files by which a shell tells tokcap about its pipelines, and which calls get one.

A shell gets none if its text has no such pipeline, looks at functions and traps itself, or has unusual flags:
then nothing in it may be different. Loaded only for text that may have a pipeline.
"""

from __future__ import annotations

import os
import sys

from tokcap.cli.shell_flags import read_words
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokcap.cli.shell_flags import ShellWords
    from tokcap.core.request import Request
    from tokcap.environment import Environment
    from tokcap.source.pipes import StagePipes
    from tokcap.steps.stages import Stages
    from tokcap.system.shell import Shell

SCRIPTS = os.path.join(os.path.dirname(__file__), "scripts")
# The variable that names the start-up file of each shell, or its directory.
START_UP = {"bash": ("BASH_ENV", f"{SCRIPTS}/pipes.bash"), "zsh": ("ZDOTDIR", f"{SCRIPTS}/zsh")}
NAMES = ("head", "tail", "grep", "sed", "awk", "wc", "sort")
# Text that reads other text may lead to any pipeline.
READING = ("source ", ". ")
# Text in which functions, traps or traces of our own would show.
LOOKING = (
    *["DEBUG", "RETURN", "URG", "functrace", "extdebug", "XTRACEFD", "typeset", "functions", "compgen"],
    *("set -T", "trap -p", "declare -f", "declare -F"),
    *(f"{word} {name}" for word in ("type", "type -t", "command -v", "which") for name in NAMES),
)
# What a process of bash may do besides one command. It is not known whether a function is called there.
COMPOUND = ("{", "(", "`", "eval", "do", "then", "lastpipe", "case", "<<")
# Where `&` has another meaning.
NOT_BACKGROUND = ("&&", "|&", ">&", "<&", "&>")
# Flags that change nothing about a start-up file, and words of more letters, values of `-o` among them.
USUAL_LETTERS = frozenset("celsuo")
USUAL_WORDS = ("--login", "--noprofile", "--norc", "--", "-", "pipefail", "errexit", "nounset")
# With these, bash has other flags from the beginning, or reads no start-up file.
UNUSUAL_VARIABLES = ("SHELLOPTS", "BASHOPTS", "POSIXLY_CORRECT")
# A file of the system that sets ZDOTDIR itself.
ZSH_FILES = ("/etc/zsh/zshenv", "/etc/zshenv")
READ_BYTES = 1 << 18


class Pipelines(Record):
    """What keeps track of the pipelines of one shell."""

    stages: Stages
    pipes: StagePipes
    # For the shell: they lead it to its start-up file, which restores those of the user.
    variables: Mapping[str, str | None]


def watch_pipelines(
    shell: Shell, words: Sequence[str], request: Request, env: Environment
) -> Pipelines | None:
    """Get ready for the pipelines of a shell; None if there are none, or if something would be different."""
    name = "zsh" if os.path.basename(shell.path).startswith("zsh") else "bash"
    kind = read_words(words)
    text = text_for(kind, words[kind.position :])
    if not may_have_pipelines(text) or not is_usual(kind, words[: kind.position], env):
        return None
    if sys.platform != "linux" or (name == "zsh" and any("ZDOTDIR" in text_of(path) for path in ZSH_FILES)):
        return None
    from tokcap.source.pipes import StagePipes
    from tokcap.steps.stages import Stages

    stages = Stages(request, env)
    try:
        pipes = StagePipes(stages, is_plain=is_plain(text))
    except OSError:
        # There are not enough descriptors.
        return None
    own, place = START_UP[name]
    told = pipes.as_text(asks=is_in_foreground(text))
    variables = {own: place, f"TOKCAP_{own}": env.variables.get(own), "TOKCAP_STAGES": told}
    return Pipelines(stages, pipes, variables)


def text_for(kind: ShellWords, rest: Sequence[str]) -> str | None:
    """Return what a shell runs; None if it reads standard input."""
    if "c" in kind.letters:
        return rest[0] if rest else ""
    return text_of(rest[0]) if kind.has_script else None


def text_of(path: str) -> str:
    """Return the beginning of a file; empty if it cannot be read."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(READ_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def may_have_pipelines(text: str | None) -> bool:
    """Return whether a text may have a pipeline with a last stage of ours, and does not look at functions."""
    if text is None:
        return True
    if any(word in text for word in LOOKING):
        return False
    return ("|" in text and any(name in text for name in NAMES)) or any(word in text for word in READING)


def is_plain(text: str | None) -> bool:
    """Return whether a last stage has a process of its own in any case, which it may replace."""
    return text is not None and not any(word in text for word in (*COMPOUND, *READING))


def is_in_foreground(text: str | None) -> bool:
    """Return whether nothing in a text runs in the background: bash cannot say how that ends."""
    if text is None:
        return False
    for word in NOT_BACKGROUND:
        text = text.replace(word, "")
    return "&" not in text


def is_usual(kind: ShellWords, flags: Sequence[str], env: Environment) -> bool:
    """Return whether the start-up file is read, and changes nothing."""
    return (
        USUAL_LETTERS.issuperset(kind.letters)
        and all(word in USUAL_WORDS or (word[:1] == "-" and word[:2] != "--") for word in flags)
        and not any(env.variables.get(name) for name in UNUSUAL_VARIABLES)
    )
