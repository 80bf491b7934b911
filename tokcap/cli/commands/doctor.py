"""`tokcap doctor`: report what is wrong with what is installed, stored and configured, and what to do."""

import typer

from tokcap import exits
from tokcap.cli.application import Output, application
from tokcap.cli.reply import Reply
from tokcap.core.units import count_of
from tokcap.doctor.examination import examine, line_of
from tokcap.steps.continuation import readable

app = application()


@app.command(epilog="Exit status 1: something is wrong.")
def doctor(context: typer.Context, output: Output = None) -> int:
    """Report what is wrong with the installation, stored outputs, sessions, hooks or configuration.

    Prints what to do about each problem, and every setting that is set with its source. Changes nothing.
    """
    # As text, each finding is printed as soon as it is known.
    reply = Reply(context.obj, output)
    started, found = reply.env.clock(), []
    for finding in examine(reply.env):
        found.append(finding)
        if reply.is_text:
            reply.say(f"{line_of(finding)}\n")
    wrong = sum(finding.status == "wrong" for finding in found)
    status = exits.NO if wrong else exits.OK
    if reply.is_text:
        problems = f"{count_of(wrong, 'thing')} {'is' if wrong == 1 else 'are'} wrong"
        reply.say(f"{problems if wrong else 'nothing is wrong'}\n")
        return status
    records = [
        {key: readable(value) if isinstance(value, str) else value for key, value in one.__dict__.items()}
        for one in found
    ]
    return reply.give(records, status=status, duration_ms=round((reply.env.clock() - started) * 1000))
