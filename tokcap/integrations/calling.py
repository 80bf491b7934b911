"""One call of an equipped command: it runs as ever, or its output is taken and answered for.

What was asked for is known when the innermost command has read its words; a group may have printed by then.
So the outermost command takes the output as soon as a word looks like a flag, and lets it go if it was none.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from tokcap.integrations.flags import NOTHING, call_of, may_ask, wanted_output

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcap.integrations.flags import Asked, Call
    from tokcap.integrations.framework import Framework


def make_context(
    original: Callable[..., Any],
    framework: Framework,
    tokenizer: str,
    info_name: str | None,
    args: list[str],
    parent: Any = None,
    **settings: Any,
) -> Any:
    """Read the words of a command. Where they cannot be read, whoever asked for JSON is told in JSON."""
    started = time.monotonic()
    words = tuple(args)
    try:
        context = original(info_name, args, parent=parent, **settings)
    except BaseException as error:
        output = wanted_output(words)
        # Inside another command it is the error of that one.
        if parent is not None or output == "text" or sys.stdout is None:
            raise
        from tokcap.integrations.outcome import outcome_of
        from tokcap.integrations.replying import refusal
        from tokcap.integrations.taking import write_to

        outcome = outcome_of(error, framework)
        if outcome.failure is None:
            # It was `--help` or the like, and has been answered.
            raise
        write_to(sys.stdout, refusal(output, tokenizer, outcome, started))
        raise framework.exit(outcome.status) from error
    call_of(context).words = words
    return context


def invoke(original: Callable[[Any], Any], framework: Framework, tokenizer: str, context: Any) -> Any:
    """Run a command whose words are read."""
    call = call_of(context)
    is_group = hasattr(context.command, "get_command")
    if call.taken is None and sys.stdout is not None:
        if call.asked != NOTHING or (is_group and may_ask(call.words)):
            return answered(original, framework, tokenizer, context, call)
    elif call.taken and call.asked != NOTHING:
        check(framework, call.asked, tokenizer, context)
        call.taken.begin_anew()
    elif call.taken and not is_group:
        call.taken.pass_on()
    return original(context)


def answered(
    original: Callable[[Any], Any], framework: Framework, tokenizer: str, context: Any, call: Call
) -> Any:
    """Run it with its output taken, write the answer, and end as it ended."""
    from tokcap.integrations.outcome import outcome_of
    from tokcap.integrations.replying import refusal, reply
    from tokcap.integrations.returned import printed
    from tokcap.integrations.taking import TakenOutput

    started = time.monotonic()
    words = call.words
    value, error = None, None
    call.taken = taken = TakenOutput()
    try:
        try:
            if call.asked != NOTHING:
                check(framework, call.asked, tokenizer, context)
            value = original(context)
            # What a context prints when it is closed belongs to the output.
            context.close()
        except BaseException as raised:
            error = raised
        if taken.is_taken:
            taken.give_back()
            if isinstance(error, framework.usage_error) and call.asked.output is None:
                call.asked = call.asked.but(output=wanted_output(words))
            output = call.asked.output or "text"
            if error is None and taken.has_nothing_new:
                try:
                    taken.add(printed(value))
                except Exception as unwritable:
                    # It may be part of itself, or have keys that JSON does not know.
                    why = f"what the command returned cannot be written as JSON: {unwritable}"
                    error = framework.shown_error(why)
            outcome = outcome_of(error, framework)
            if call.asked == NOTHING:
                taken.pass_on()
            elif isinstance(error, framework.usage_error) and not taken.size:
                taken.write(refusal(output, call.asked.tokenizer or tokenizer, outcome, started))
            else:
                answer, warnings = reply(taken.data(), call.asked, tokenizer, outcome, started)
                taken.write(answer)
                for warning in warnings:
                    print(warning, file=sys.stderr)
            if error is not None and output != "text":
                raise framework.exit(outcome.status) from error
    finally:
        taken.give_back()
        taken.close()
        call.taken = None
    if error is not None:
        raise error
    return value


def check(framework: Framework, asked: Asked, tokenizer: str, context: Any) -> None:
    """Refuse the call before anything runs."""
    from tokcap.errors import TokenizerUnavailable, UsageError
    from tokcap.integrations.replying import request_for
    from tokcap.tokens import open_tokenizer

    try:
        open_tokenizer(request_for(asked, tokenizer).tokenizer)
    except (TokenizerUnavailable, UsageError) as error:
        raise framework.usage_error(str(error), context) from None
