"""Report an error of a call: one line on stderr, and an envelope if the call asked for one."""

from __future__ import annotations

import os

from tokcap.cli.arguments import wanted_output
from tokcap.core.request import DEFAULTS, SUBCOMMANDS
from tokcap.errors import CommandNotFound, TokcapError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.system.shortage import shortage_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.request import View
    from tokcap.environment import Environment


def problem_of(error: Exception) -> TokcapError:
    """Return an error of tokcap as it is; any other one as an internal error, with its place."""
    if isinstance(error, CommandNotFound):
        return CommandNotFound(f"{error}{suggestion(error.command)}")
    if isinstance(error, TokcapError):
        return error
    return TokcapError(
        shortage_of(error) or f"internal error: {place_of(error)}{type(error).__name__}: {error}"
    )


def refuse(
    error: TokcapError, argv: Sequence[str], view: View | None, duration_ms: int, env: Environment
) -> int:
    """Report an error and return its exit status; `view` is None if the call could not be parsed."""
    env.tell(str(error))
    try:
        output = view.output if view else wanted_output(argv, env)
        from tokcap.forms import FORMS

        if FORMS[output].has_envelope:
            from tokcap.core.response import refusal

            tokenizer = view.tokenizer if view else str(DEFAULTS["tokenizer"])
            env.write_stdout(FORMS[output].write(refusal(error, tokenizer, duration_ms)))
    except Exception:  # noqa: S110
        # Nobody reads the envelope, or there is no memory left to make one. The line on stderr and the exit
        # status report the error all the same.
        pass
    return error.exit_status


def suggestion(command: str) -> str:
    """Return the subcommand or flag that may have been meant by a command that was not found."""
    from tokcap.core.spelling import nearest

    near = nearest(command, (*SUBCOMMANDS, "--help", "--version"))
    return f"; did you mean tokcap {near}?" if near else ""


def place_of(error: BaseException) -> str:
    """Return file and line in which an error was raised. A traceback would not help users."""
    trace = error.__traceback__
    if trace is None:
        return ""
    while trace.tb_next:
        trace = trace.tb_next
    return f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}: "
