"""`tokcap doctor`: check what is installed, stored and configured, and report what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tokcap import exits
from tokcap.cli.config import writing
from tokcap.cli.described import about
from tokcap.cli.responses import Output, Reply
from tokcap.doctor.examination import examine
from tokcap.doctor.report import group_text, summary
from tokcap.steps.continuation import readable
from tokcap.system.screen import screen_of

if TYPE_CHECKING:
    from tokcap.doctor.examination import Group


@about(
    ("tokcap doctor", "check everything that is installed, stored and configured"),
    ("tokcap doctor --write-config", "write a commented config.toml, if there is none"),
    danger="writes",
    no="something is wrong, or the config file already exists",
)
def doctor(
    context: typer.Context,
    write_config: Annotated[
        bool,
        typer.Option("--write-config", help="only write a commented config.toml, if there is none"),
    ] = False,
    output: Output = None,
) -> int:
    """Check versions, packages, vocabularies, stored outputs, sessions, the usage log, hooks, shells and
    configuration.

    Prints what to do about each finding, and changes nothing.
    """
    reply = Reply(context, output)
    return write_config_file(reply) if write_config else report(reply)


def write_config_file(reply: Reply) -> int:
    """Write a config file, and print its path."""
    path = reply.env.config_file()
    writing.write_config(path)
    return reply.say(f"{path}\n") if reply.is_text else reply.give({"path": readable(path)})


def report(reply: Reply) -> int:
    """Run all checks. As text, each group is printed as soon as it is done."""
    env = reply.env
    started = env.clock()
    colours = screen_of(env, env.stdout).colours
    groups = []
    for group in examine(env):
        groups.append(group)
        if reply.is_text:
            reply.say(group_text(group, colours=colours))
    statuses = {finding.status for group in groups for finding in group.findings}
    status = exits.NO if "wrong" in statuses else exits.OK
    if reply.is_text:
        reply.say(summary(groups))
        return status
    records = [record for group in groups for record in records_of(group)]
    return reply.give(records, status=status, duration_ms=round((env.clock() - started) * 1000))


def records_of(group: Group) -> list[dict[str, object]]:
    """Return the findings of a group as JSON objects."""
    return [
        {
            "group": group.name,
            **{
                name: readable(value) if isinstance(value, str) else value
                for name, value in finding.__dict__.items()
            },
        }
        for finding in group.findings
    ]
