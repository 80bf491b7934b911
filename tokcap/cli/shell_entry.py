"""`tokcap-sh`: a shell whose output is capped as variables and config file say.

It runs the real shell with all arguments unchanged: a string, a script, or standard input. An interactive
shell at a terminal is not capped.
"""

from __future__ import annotations

import os
import sys

from tokcap.__main__ import call
from tokcap.cli.shell_flags import is_interactive
from tokcap.environment import STDERR, STDIN, Environment
from tokcap.errors import TokcapError
from tokcap.exits import NOT_EXECUTABLE, NOT_FOUND, OK
from tokcap.lean.record import TYPE_CHECKING
from tokcap.system.shell import shell_of

if TYPE_CHECKING:
    import signal
    from collections.abc import Sequence
else:
    # The public module imports `enum`.
    import _signal as signal


def main() -> int:
    """Run the console script. tokcap itself handles only a lone `--help`."""
    words = sys.argv[1:]
    if words == ["--help"]:
        from tokcap.cli.help import SHELL_HELP

        Environment.of_this_process().write_stdout(SHELL_HELP.encode())
        return OK
    at_terminal = os.isatty(STDIN) and os.isatty(STDERR)
    interactive = is_interactive(words, at_terminal=at_terminal)
    env = Environment(os.environ) if interactive else Environment.of_this_process()
    try:
        shell = shell_of(env.variables)
    except TokcapError as error:
        env.tell(str(error))
        return error.exit_status
    if interactive:
        return become(shell, words, env)
    return call(["--", shell, *words], env)


def become(shell: str, words: Sequence[str], env: Environment) -> int:
    """Turn this process into the shell."""
    # Python ignores these signals, and a program inherits what is ignored.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    try:
        os.execvp(shell, (shell, *words))  # noqa: S606  # that is the purpose
    except OSError as error:
        env.tell(f"{shell}: {error.strerror}")
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE


if __name__ == "__main__":
    sys.exit(main())
