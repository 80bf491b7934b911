"""`tokcap doctor`: what is installed, stored and configured, what is wrong with it, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tokcap import exits
from tokcap.arguments import wanted_output
from tokcap.cli.commands import about
from tokcap.cli.completion import script
from tokcap.cli.responses import respond, say
from tokcap.configfile import writing
from tokcap.doctor.examination import examine
from tokcap.doctor.report import group_text, summary
from tokcap.screen import screen_of
from tokcap.ways import readable

if TYPE_CHECKING:
    from tokcap.doctor.examination import Group
    from tokcap.environment import Environment
    from tokcap.types import Output


@about(
    ("tokcap doctor", "everything that is installed, stored and configured, and what to do about it"),
    ("tokcap doctor --write-config", "a commented config.toml, where there is none yet"),
    danger="writes",
    exit_codes=(0, 1, 2, 125),
)
def doctor(
    context: typer.Context,
    write_config: Annotated[
        bool,
        typer.Option("--write-config", help="write a commented config.toml instead, where there is none yet"),
    ] = False,
    output: Annotated[
        Literal["text", "json", "jsonl"] | None, typer.Option("-o", "--output", help="form of the response")
    ] = None,
) -> int:
    """Examine versions, vocabularies, stored outputs, sessions, hooks, shells and configuration.

    Says what to do about each finding, and changes nothing itself. Exit status 1 if something is wrong.
    """
    env: Environment = context.obj
    output = output or wanted_output((), env)
    return written(output, env) if write_config else examined(output, env)


def written(output: Output, env: Environment) -> int:
    """Write a config file, and say where."""
    path = env.config_file()
    writing.write_config(path)
    if output == "text":
        say(f"{path}\n", env)
        return exits.OK
    return respond({"path": readable(path)}, output, env)


def examined(output: Output, env: Environment) -> int:
    """Report on everything; people see each group as soon as it is done."""
    started = env.clock()
    groups = []
    for group in examine(env, script):
        groups.append(group)
        if output == "text":
            say(group_text(group, colours=screen_of(env, env.stdout).colours), env)
    statuses = {finding.status for group in groups for finding in group.findings}
    status = exits.NO if "wrong" in statuses else exits.OK
    if output == "text":
        say(summary(groups), env)
        return status
    records = [record for group in groups for record in described(group)]
    return respond(records, output, env, status=status, duration_ms=round((env.clock() - started) * 1000))


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
