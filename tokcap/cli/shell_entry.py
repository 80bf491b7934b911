"""`tokcap-sh`: a shell for whoever wants one, with its output capped as the settings say.

What runs is the real shell, with the very words of the call: a string, a script, or standard input. In
front of a person at a terminal, tokcap steps aside.
"""

from __future__ import annotations

import os
import sys

from tokcap.__main__ import call
from tokcap.environment import STDERR, STDIN, Environment
from tokcap.errors import TokcapError
from tokcap.exits import NOT_EXECUTABLE, NOT_FOUND, OK
from tokcap.lean.record import TYPE_CHECKING
from tokcap.system.shell import is_interactive, shell_of

if TYPE_CHECKING:
    import signal
    from collections.abc import Sequence
else:
    # See `source.process`.
    import _signal as signal


def main() -> int:
    """The console script. Only a lone `--help` is tokcap's own."""
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
    # Python ignores them for itself, and what is ignored stays so.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    try:
        os.execvp(shell, (shell, *words))  # noqa: S606  # that is the purpose
    except OSError as error:
        env.tell(f"{shell}: {error.strerror}")
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE


if __name__ == "__main__":
    sys.exit(main())
