"""`tokcap-sh`, `tokcap-bash`, `tokcap-zsh`: shells whose output is capped as variables and config file say.

They run the real shell with all arguments unchanged: a string, a script, or standard input. An interactive
shell at a terminal is not capped.
"""

from __future__ import annotations

import os
import sys

from tokcap.__main__ import call
from tokcap.cli.shell_flags import read_words
from tokcap.environment import STDERR, STDIN, Environment
from tokcap.errors import TokcapError
from tokcap.exits import NOT_EXECUTABLE, NOT_FOUND, OK
from tokcap.startup.accelerators import signal
from tokcap.startup.record import TYPE_CHECKING
from tokcap.system.shell import Shell, shell_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn


def main() -> int:
    """Run `tokcap-sh`. tokcap itself handles only a lone `--help`."""
    words = sys.argv[1:]
    if words == ["--help"]:
        from tokcap.cli.help import SHELL_HELP

        Environment.of_this_process().write_stdout(SHELL_HELP.encode())
        return OK
    interactive = is_interactive(words)
    env = Environment(os.environ) if interactive else Environment.of_this_process()
    try:
        shell = shell_of(env.variables)
    except TokcapError as error:
        env.tell(str(error))
        return error.exit_status
    if interactive:
        return become(Shell(shell, shell), words, env)
    return call(["--", shell, *words], env)


def bash() -> NoReturn:
    """Run `tokcap-bash`."""
    from tokcap.cli.stand_in import stand_in

    stand_in("bash", sys.argv[1:])


def zsh() -> NoReturn:
    """Run `tokcap-zsh`."""
    from tokcap.cli.stand_in import stand_in

    stand_in("zsh", sys.argv[1:])


def is_interactive(words: Sequence[str]) -> bool:
    """Return whether a shell with these arguments and this terminal would talk to a person."""
    return read_words(words).is_interactive(at_terminal=os.isatty(STDIN) and os.isatty(STDERR))


def become(shell: Shell, words: Sequence[str], env: Environment) -> int:
    """Turn this process into the shell. Return an exit status only if that fails."""
    from tokcap.source.launch import restored_signals

    # Python ignores these signals, and a program inherits what is ignored.
    for number in restored_signals():
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(shell.path, (shell.name, *words))  # noqa: S606  # that is the purpose
    except OSError as error:
        env.tell(f"{shell.path}: {error.strerror}")
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE


if __name__ == "__main__":
    sys.exit(main())
