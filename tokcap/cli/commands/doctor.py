"""`tokcap doctor`: report what is wrong with what is installed, stored and configured, and what to do."""

from typing import Annotated

import typer

from tokcap import exits
from tokcap.cli.application import Output, application, reading
from tokcap.cli.kinds import LineOfText
from tokcap.cli.reply import Reply
from tokcap.core.units import count_of
from tokcap.doctor.examination import examine, line_of
from tokcap.doctor.ruling import examine_rules
from tokcap.steps.continuation import readable

app = application()


RuleFor = Annotated[
    str | None,
    reading(
        LineOfText(),
        "--rule",
        "say which rule decides about this command, tool or SERVER/TOOL, and why",
        "LINE",
    ),
]


@app.command(epilog="Exit status 1: something is wrong, or no rule decides.")
def doctor(context: typer.Context, rule: RuleFor = None, output: Output = None) -> int:
    """Report what is wrong with the installation, stored outputs, sessions, hooks or configuration.

    Prints what to do about each problem, and every setting that is set with its source. Changes nothing.
    """
    # As text, each finding is printed as soon as it is known.
    reply = Reply(context.obj, output)
    started, found = reply.env.clock(), []
    for finding in examine(reply.env) if rule is None else examine_rules(rule, reply.env):
        found.append(finding)
        if reply.is_text:
            reply.say(f"{line_of(finding)}\n")
    wrong = sum(finding.status == "wrong" for finding in found)
    is_decided = rule is None or any(finding.status == "fact" for finding in found)
    status = exits.OK if is_decided and not wrong else exits.NO
    if reply.is_text and rule is not None:
        return status
    if reply.is_text:
        problems = f"{count_of(wrong, 'thing')} {'is' if wrong == 1 else 'are'} wrong"
        reply.say(f"{problems if wrong else 'nothing is wrong'}\n")
        return status
    records = [
        {key: readable(value) if isinstance(value, str) else value for key, value in one.__dict__.items()}
        for one in found
    ]
    return reply.give(records, status=status, duration_ms=round((reply.env.clock() - started) * 1000))
