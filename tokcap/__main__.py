"""The entry point: decide what kind of call this is, and report every error without a traceback."""

from __future__ import annotations

import os
import sys

# What `shortage_of` says, for when there is no memory to call it.
NO_MEMORY = b"tokcap: not enough memory; raise the limit (see ulimit -v)\n"


def die_quietly(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Show no traceback for Ctrl-C, or for a lack of memory or descriptors, while the program is loaded."""
    if issubclass(kind, KeyboardInterrupt):
        return
    if issubclass(kind, MemoryError):
        os.write(2, NO_MEMORY)
        os._exit(125)
    if shortage := shortage_of(error):
        os.write(2, f"tokcap: {shortage}\n".encode())
        # `exits.OWN_FAILURE`, which may not be loaded yet.
        os._exit(125)
    sys.__excepthook__(kind, error, trace)


def die_of_ignored(problem: sys.UnraisableHookArgs) -> None:
    """End the program at a Ctrl-C that Python caught where it can only be ignored, in a callback.

    Python would print a traceback and go on, as if nobody had pressed a key.
    """
    if issubclass(problem.exc_type, KeyboardInterrupt):
        # `exits.INTERRUPTED`, which may not be loaded yet.
        os._exit(130)
    report_ignored(problem)


if __name__ == "__main__" and "PYTHONDONTWRITEBYTECODE" in os.environ:
    # As in `bin/tokcap`.
    sys.dont_write_bytecode = False

sys.excepthook = die_quietly
report_ignored, sys.unraisablehook = sys.unraisablehook, die_of_ignored

# ruff: noqa: E402  # the imports take most of the start-up time, and can be interrupted
import gc

# A call is short: collecting cycles would take longer than it saves.
gc.set_threshold(100_000)

# Needed if the other imports fail.
from tokcap.system.shortage import free_memory, problem_of, shortage_of  # isort: skip

# Fail here if there is no memory to load the program. Python itself can loop forever when it runs out of
# memory while it imports a module. This takes address space only.
bytes(1 << 21)

from tokcap import exits
from tokcap.cli.arguments import HelpWanted, Subcommand, VersionWanted, parse
from tokcap.core.request import ShowRequest, View
from tokcap.environment import Environment
from tokcap.errors import ReaderGone, UsageError
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Any, NoReturn

    from tokcap.cli.arguments import Invocation


def main() -> NoReturn:
    """Run the program `tokcap`."""
    status = call(sys.argv[1:], Environment.of_this_process())
    # Nothing is buffered and all files are closed, so skip the interpreter's shutdown.
    os._exit(status)


def call(
    argv: Sequence[str],
    env: Environment,
    read: Callable[[Sequence[str], Environment], Invocation] = parse,
    answer: Callable[[Any, Environment], int] | None = None,
) -> int:
    """Run one call in the given environment and return its exit status.

    `read` decides what the call is, and `answer` does it: as `tokcap` does, or as another program.
    """
    started = env.clock()
    view: View | None = None
    try:
        invocation = read(argv, env)
        if isinstance(invocation, View):
            view = invocation
        return (answer or dispatch)(invocation, env)
    except ReaderGone as error:
        return error.exit_status
    except KeyboardInterrupt:
        return exits.INTERRUPTED
    except Exception as error:
        problem = problem_of(error)
        free_memory(error)
        from tokcap.cli.reply import refuse

        return refuse(problem, argv, view, round((env.clock() - started) * 1000), env)


def dispatch(invocation: Invocation, env: Environment) -> int:
    """Do what the call asks for."""
    if isinstance(invocation, Subcommand):
        from tokcap.cli.subcommand import run_subcommand

        return run_subcommand(invocation.name, invocation.arguments, env)
    if isinstance(invocation, ShowRequest):
        from tokcap.pipeline import show

        return show(invocation, env.for_pages()).status
    if isinstance(invocation, HelpWanted):
        from tokcap.cli.help import help_of_run, show_help

        columns, is_run = env.columns(env.stdout), invocation.form == "run"
        text = help_of_run(columns, everything=invocation.everything) if is_run else show_help(columns)
        env.write_stdout(text.encode())
        return exits.OK
    if isinstance(invocation, VersionWanted):
        from tokcap import __version__

        env.write_stdout(f"tokcap {__version__}\n".encode())
        return exits.OK
    if not invocation.command and env.is_terminal(env.stdin):
        from tokcap.outputs import FORMS

        if FORMS[invocation.output].has_envelope:
            raise UsageError("no command was given, and standard input is a terminal; see tokcap --help")
        from tokcap.cli.help import short_help

        env.write_stderr(short_help(env.columns(env.stderr)).encode())
        return exits.OWN_FAILURE

    from tokcap.pipeline import run

    return run(invocation, env).status


if __name__ == "__main__":
    main()
