"""Say which rule of the config file decides about a command line or a tool, and why."""

from __future__ import annotations

from tokcap.cli.arguments import config_of
from tokcap.cli.config import RULE_KEYS
from tokcap.cli.options import BY_KEY
from tokcap.cli.rules import commands, decisive, first
from tokcap.doctor.configuration import setting
from tokcap.doctor.examination import Finding, note
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment


def examine_rules(line: str, env: Environment) -> Iterator[Finding]:
    """Yield the rule of each command that a line shows, then what decides. No fact: no rule applies."""
    rules = config_of(env).rules
    if not rules:
        yield note("rules", f"there are none in {env.config_file()}", "tokcap hook install --rules")
        return
    subject = ("sh", "-c", line)
    found = commands(subject)
    rule = decisive(rules, subject)
    for words in found:
        one = first(rules, words)
        why = (
            f"rule {one.number}, {one.match(words)!r}, is the first that matches"
            if one
            else "no rule matches"
        )
        name = " ".join(words).replace("\0", "a line that cannot be divided")
        yield Finding(name, "fact" if rule else "note", why)
    if rule is None:
        if len(found) != 1:
            why = "its commands have different rules" if found else "it shows the output of no command"
            yield note("line", f"no rule applies: {why}")
        return
    for key, option in RULE_KEYS.items():
        variable = BY_KEY[option].variable
        if option in rule.values and BY_KEY[option].text_in(env.variables) is not None:
            yield note(key, f"{variable} wins over rule {rule.number}")
        elif option in rule.values:
            yield setting(BY_KEY[option], rule.values[option], f"rule {rule.number}").replace(name=key)
