"""Run one command that has the flags: unchanged, or with its standard output captured and answered.

The flags are known only when the innermost command has parsed its arguments. A group may have printed before
that. So the outermost command starts the capture if an argument looks like a flag, and releases the output
unchanged if it was not a flag.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from tokcap.integrations.flags import NO_FLAGS, call_of, guess_output, may_contain_flag
from tokcap.outputs import FORMS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcap.integrations.flags import Call, FlagValues, Framework


def make_context(
    original: Callable[..., Any],
    framework: Framework,
    tokenizer: str,
    info_name: str | None,
    args: list[str],
    parent: Any = None,
    **settings: Any,
) -> Any:
    """Parse the arguments of a command. If that fails and JSON was requested, report the error as JSON."""
    started = time.monotonic()
    arguments = tuple(args)
    try:
        context = original(info_name, args, parent=parent, **settings)
    except BaseException as error:
        output = guess_output(arguments)
        # If there is an outer command, it reports the error.
        if parent is not None or not FORMS[output].has_envelope or sys.stdout is None:
            raise
        from tokcap.integrations.response import outcome_of, refusal
        from tokcap.integrations.stdout_capture import write_to

        outcome = outcome_of(error, framework)
        if outcome.failure is None:
            # An option such as `--help` has already printed its output.
            raise
        write_to(sys.stdout, refusal(output, tokenizer, outcome, started))
        raise framework.exit(outcome.status) from error
    call_of(context).note_arguments(arguments)
    return context


def invoke(original: Callable[[Any], Any], framework: Framework, tokenizer: str, context: Any) -> Any:
    """Run a command whose arguments are parsed."""
    call = call_of(context)
    is_group = hasattr(context.command, "get_command")
    if call.capture is None and sys.stdout is not None:
        if call.flags != NO_FLAGS or (is_group and may_contain_flag(call.arguments)):
            return run_with_capture(original, framework, tokenizer, context, call)
    elif call.capture and call.flags != NO_FLAGS:
        check_flags(framework, call.flags, tokenizer, context)
        call.capture.begin_inner_command()
    elif call.capture and not is_group:
        call.capture.release_unchanged()
    return original(context)


def run_with_capture(
    original: Callable[[Any], Any], framework: Framework, tokenizer: str, context: Any, call: Call
) -> Any:
    """Run a command with its output captured, write the response, and end as the command ended."""
    from tokcap.integrations.response import outcome_of, printed, refusal, respond
    from tokcap.integrations.stdout_capture import StdoutCapture

    started = time.monotonic()
    arguments = call.arguments
    value, error = None, None
    capture = StdoutCapture()
    call.note_capture(capture)
    try:
        try:
            if call.flags != NO_FLAGS:
                check_flags(framework, call.flags, tokenizer, context)
            value = original(context)
            # Callbacks of the context may print when it is closed. This belongs to the output.
            context.close()
        except BaseException as raised:
            error = raised
        if capture.is_active:
            capture.stop()
            if isinstance(error, framework.usage_error) and call.flags.output is None:
                call.add_flag("output", guess_output(arguments))
            output = call.flags.output or "text"
            if error is None and capture.has_nothing_new:
                try:
                    capture.add(printed(value))
                except Exception as unwritable:
                    # For example a list that contains itself, or a key that is not a string.
                    why = f"what the command returned cannot be written as JSON: {unwritable}"
                    error = framework.shown_error(why)
            outcome = outcome_of(error, framework)
            if call.flags == NO_FLAGS:
                capture.release_unchanged()
            elif isinstance(error, framework.usage_error) and not capture.size:
                capture.write(refusal(output, call.flags.tokenizer or tokenizer, outcome, started))
            else:
                reply = respond(capture.data(), call.flags, tokenizer, outcome, started)
                capture.write(reply.stdout_data)
                if reply.words and sys.stderr is not None:
                    sys.stderr.write(reply.words.decode("utf-8", "replace"))
            if error is not None and FORMS[output].has_envelope:
                raise framework.exit(outcome.status) from error
    finally:
        capture.stop()
        capture.close()
        call.note_capture(None)
    if error is not None:
        raise error
    return value


def check_flags(framework: Framework, flags: FlagValues, tokenizer: str, context: Any) -> None:
    """Refuse bad values of the flags before the command runs."""
    from tokcap.errors import TokenizerUnavailable, UsageError
    from tokcap.integrations.response import request_from
    from tokcap.steps.fitting import check_limit
    from tokcap.tokens import open_tokenizer

    try:
        request = request_from(flags, tokenizer)
        check_limit(request, open_tokenizer(request.tokenizer))
    except (TokenizerUnavailable, UsageError) as error:
        raise framework.usage_error(str(error), context) from None
