"""Report an error of a call that no session pays for: one line on stderr, and an envelope if asked for."""

from __future__ import annotations

from tokcap.cli.arguments import wanted_output
from tokcap.core.request import DEFAULTS
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.request import View
    from tokcap.environment import Environment
    from tokcap.errors import TokcapError


def refuse(
    error: TokcapError, argv: Sequence[str], view: View | None, duration_ms: int, env: Environment
) -> int:
    """Report an error and return its exit status; `view` is None if the call could not be parsed."""
    message, envelope = str(error), b""
    try:
        output = view.output if view else wanted_output(argv, env)
        from tokcap.core.response import refusal
        from tokcap.steps.refusing import brief, envelope_written

        full = refusal(error, view.tokenizer if view else str(DEFAULTS["tokenizer"]), duration_ms)
        answer = brief(error, full, view)
        if answer.failure and answer.failure != full.failure:
            message = answer.failure.message
        envelope = envelope_written(answer, output)
    except Exception:  # noqa: S110
        # There is no memory left to make an envelope. The line on stderr and the exit status report the error
        # all the same.
        pass
    env.tell(message)
    try:
        env.write_stdout(envelope)
    except Exception:  # noqa: S110
        # Nobody reads the envelope.
        pass
    return error.exit_status
