"""`tokcap doctor`: what is installed, stored and configured, what is wrong with it, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tokcap import exits
from tokcap.cli.commands.completion import script
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
    ("tokcap doctor", "everything that is installed, stored and configured, and what to do about it"),
    ("tokcap doctor --write-config", "a commented config.toml, where there is none yet"),
    danger="writes",
    no="something is wrong, or there is a config file already",
)
def doctor(
    context: typer.Context,
    write_config: Annotated[
        bool,
        typer.Option("--write-config", help="write a commented config.toml instead, where there is none yet"),
    ] = False,
    output: Output = None,
) -> int:
    """Examine versions, packages, vocabularies, stored outputs, sessions, the account, hooks, shells and
    configuration.

    Says what to do about each finding, and changes nothing itself.
    """
    reply = Reply(context, output)
    return written(reply) if write_config else examined(reply)


def written(reply: Reply) -> int:
    """Write a config file, and say where."""
    path = reply.env.config_file()
    writing.write_config(path)
    return reply.say(f"{path}\n") if reply.is_text else reply.give({"path": readable(path)})


def examined(reply: Reply) -> int:
    """Report on everything; people see each group as soon as it is done."""
    env = reply.env
    started = env.clock()
    colours = screen_of(env, env.stdout).colours
    groups = []
    for group in examine(env, script):
        groups.append(group)
        if reply.is_text:
            reply.say(group_text(group, colours=colours))
    statuses = {finding.status for group in groups for finding in group.findings}
    status = exits.NO if "wrong" in statuses else exits.OK
    if reply.is_text:
        reply.say(summary(groups))
        return status
    records = [record for group in groups for record in described(group)]
    return reply.give(records, status=status, duration_ms=round((env.clock() - started) * 1000))


def described(group: Group) -> list[dict[str, object]]:
    """The findings of a group for programs."""
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
