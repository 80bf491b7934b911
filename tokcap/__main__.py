"""The entry of the program: decides what a call is, and turns every error into one line."""

from __future__ import annotations

import sys


def die_quietly(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Ctrl-C while the program is still being loaded is no defect to be traced, nor is a shortage."""
    if issubclass(kind, KeyboardInterrupt):
        return
    if shortage := shortage_of(error):
        os.write(2, f"tokcap: {shortage}\n".encode())
        # The status that the same has later on; `exits` may not have been loaded.
        os._exit(125)
    sys.__excepthook__(kind, error, trace)


sys.excepthook = die_quietly

# ruff: noqa: E402  # what follows can be interrupted, and takes most of the time to get here
import gc
import os

from tokcap.system.shortage import shortage_of  # isort: skip  # loading the rest may be what there is too little for

from tokcap import exits
from tokcap.cli.arguments import HelpWanted, Subcommand, VersionWanted, parse, wanted_output
from tokcap.cli.options import BY_KEY
from tokcap.core.request import ShowRequest, View
from tokcap.environment import Environment
from tokcap.errors import CommandNotFound, ReaderGone, TokcapError, UsageError
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import NoReturn

    from tokcap.cli.arguments import Invocation


def main() -> NoReturn:
    """The console script."""
    # A call is short: looking for cycles among what it has loaded costs more than they do.
    gc.set_threshold(100_000)
    status = call(sys.argv[1:], Environment.of_this_process())
    # Nothing is buffered and every file is closed, so there is nothing left to take down piece by piece.
    os._exit(status)


def call(argv: Sequence[str], env: Environment) -> int:
    """Run one call in the given world and return its exit status."""
    started = env.clock()
    view: View | None = None
    try:
        invocation = parse(argv, env)
        if isinstance(invocation, View):
            view = invocation
        return dispatch(invocation, env)
    except ReaderGone as error:
        return error.exit_status
    except KeyboardInterrupt:
        return exits.INTERRUPTED
    except CommandNotFound as error:
        problem: TokcapError = CommandNotFound(f"{error}{suggestion(error.command)}")
    except TokcapError as error:
        problem = error
    except Exception as error:
        # A defect of tokcap's own. Its place helps whoever mends it; a traceback helps no user.
        defect = f"internal error: {where(error)}{type(error).__name__}: {error}"
        problem = TokcapError(shortage_of(error) or defect)
    return refuse(problem, argv, view, round((env.clock() - started) * 1000), env)


def dispatch(invocation: Invocation, env: Environment) -> int:
    if isinstance(invocation, HelpWanted):
        from tokcap.cli.help import full_help, show_help
        from tokcap.system.screen import screen_of

        render = full_help if invocation.form == "run" else show_help
        env.write_stdout(render(screen_of(env, env.stdout)).encode())
        return exits.OK
    if isinstance(invocation, VersionWanted):
        from tokcap import __version__

        env.write_stdout(f"tokcap {__version__}\n".encode())
        return exits.OK
    if isinstance(invocation, Subcommand):
        from tokcap.cli import run_subcommand

        return run_subcommand(invocation.name, invocation.arguments, env)
    if isinstance(invocation, ShowRequest):
        from tokcap.pipeline import show

        return show(invocation, env).status
    if not invocation.command and env.stdin not in env.closed and os.isatty(env.stdin):
        from tokcap.forms import FORMS

        if FORMS[invocation.output].has_envelope:
            raise UsageError("there is no command, and standard input is a terminal; see tokcap --help")
        from tokcap.cli.help import usage
        from tokcap.system.screen import screen_of

        env.write_stderr(usage(screen_of(env, env.stderr)).encode())
        return exits.OWN_FAILURE

    from tokcap.pipeline import run

    return run(invocation, env).status


def refuse(
    error: TokcapError, argv: Sequence[str], view: View | None, duration_ms: int, env: Environment
) -> int:
    """One line on stderr, and an envelope where one was asked for."""
    env.tell(str(error))
    output = view.output if view else wanted_output(argv, env)
    from tokcap.forms import FORMS

    if FORMS[output].has_envelope:
        from tokcap.core.response import refusal

        tokenizer = view.tokenizer if view else str(BY_KEY["tokenizer"].default)
        try:
            env.write_stdout(FORMS[output].write(refusal(error, tokenizer, duration_ms)))
        except Exception:  # noqa: S110
            # Nobody reads the envelope, or there is nothing left to make one of; the line and the status are
            # told all the same.
            pass
    return error.exit_status


def suggestion(command: str) -> str:
    """Return the subcommand or flag that may have been meant by a command that was not found."""
    from tokcap.cli.options import SUBCOMMANDS
    from tokcap.core.spelling import nearest

    near = nearest(command, (*SUBCOMMANDS, "--help", "--version"))
    return f"; did you mean tokcap {near}?" if near else ""


def where(error: BaseException) -> str:
    """Module and line in which an error arose."""
    trace = error.__traceback__
    if trace is None:
        return ""
    while trace.tb_next:
        trace = trace.tb_next
    return f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}: "


if __name__ == "__main__":
    main()
