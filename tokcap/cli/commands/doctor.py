"""`tokcap doctor`: check what is installed, stored and configured, and report what to do about it."""

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
            ("--problems",),
            "show only what needs attention; nothing if all is well",
            Switch(),
            "",
            False,
            "off",
        ),
        Flag(
            ("--write-config",),
            "only write a commented config.toml, if there is none",
            Switch(),
            "",
            False,
            "off",
        ),
        OUTPUT,
    ),
    examples=(
        ("tokcap doctor", "check everything that is installed, stored and configured"),
        ("tokcap doctor --problems", "only what needs attention, with what to do about it"),
        ("tokcap doctor --write-config", "write a commented config.toml, if there is none"),
    ),
    danger="writes",
    no="something is wrong, or the config file already exists",
)
def doctor(env: Environment, *, problems: bool, write_config: bool, output: Output | None) -> int:
    """Check versions, packages, vocabularies, stored outputs, sessions, the usage log, hooks, shells and
    configuration.

    Prints what to do about each finding, and changes nothing.
    """
    reply = Reply(env, output)
    return write_config_file(reply) if write_config else report(reply, problems=problems)


COMMANDS = (doctor,)


def write_config_file(reply: Reply) -> int:
    """Write a config file, and print its path."""
    from tokcap.cli.config.writing import write_config
    from tokcap.steps.continuation import readable

    path = reply.env.config_file()
    write_config(path)
    return reply.say(f"{path}\n") if reply.is_text else reply.give({"path": readable(path)})


def report(reply: Reply, *, problems: bool) -> int:
    """Run all checks. As text, each group is printed as soon as it is done."""
    from tokcap.doctor.examination import examine
    from tokcap.doctor.report import group_text, summary
    from tokcap.system.screen import screen_of

    env = reply.env
    started = env.clock()
    screen = screen_of(env, env.stdout)
    groups = []
    for examined in examine(env):
        group = examined.problems() if problems else examined
        groups.append(group)
        if reply.is_text and group.findings:
            reply.say(group_text(group, screen))
    statuses = {finding.status for group in groups for finding in group.findings}
    status = exits.NO if "wrong" in statuses else exits.OK
    if reply.is_text:
        if statuses or not problems:
            reply.say(summary(groups))
        return status
    records = [record for group in groups for record in records_of(group)]
    return reply.give(records, status=status, duration_ms=round((env.clock() - started) * 1000))


def records_of(group: Group) -> list[dict[str, object]]:
    """Return the findings of a group as JSON objects."""
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
