"""`tokcap doctor`: check what is installed, stored and configured, and say what to do about problems."""

from __future__ import annotations

from tokcap import exits
from tokcap.cli.description import OUTPUT, Flag, command
from tokcap.cli.kinds import Switch
from tokcap.cli.reply import Reply
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.core.request import Output
    from tokcap.doctor.examination import Group
    from tokcap.environment import Environment


@command(
    "doctor",
    flags=(
        Flag(
            ("--write-config",),
            "only write a commented config.toml, if there is none yet",
            Switch(),
            "",
            False,
            "off",
        ),
        OUTPUT,
    ),
    examples=(
        ("tokcap doctor", "check what is installed, stored and configured"),
        ("tokcap doctor --write-config", "write a commented config.toml if there is none yet"),
    ),
    danger="writes",
    no="a check failed, or there is a config file already",
)
def doctor(env: Environment, *, write_config: bool, output: Output | None) -> int:
    """Check versions, packages, vocabularies, stored outputs, sessions, the usage log, hooks, shells and
    configuration.

    Says what to do about each problem, and changes nothing itself.
    """
    reply = Reply(env, output)
    return written(reply) if write_config else examined(reply)


COMMANDS = (doctor,)


def written(reply: Reply) -> int:
    """Write a config file, and say where it is."""
    from tokcap.cli.config.writing import write_config
    from tokcap.steps.continuation import readable

    path = reply.env.config_file()
    write_config(path)
    return reply.say(f"{path}\n") if reply.is_text else reply.give({"path": readable(path)})


def examined(reply: Reply) -> int:
    """Report all checks. In text, each group is shown as soon as it is done."""
    from tokcap.cli.commands.completion import script
    from tokcap.doctor.examination import examine
    from tokcap.doctor.report import group_text, summary
    from tokcap.system.screen import screen_of

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
    records = [record for group in groups for record in findings_of(group)]
    return reply.give(records, status=status, duration_ms=round((env.clock() - started) * 1000))


def findings_of(group: Group) -> list[dict[str, object]]:
    """Return the findings of a group for programs."""
    from tokcap.steps.continuation import readable

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
