"""What applies to the results of a hook: its options, variables, the config file, or defaults of hooks."""

from __future__ import annotations

from tokcap.cli.arguments import config_of, decide, run_request, take_apart
from tokcap.core.request import flag_of
from tokcap.errors import UsageError
from tokcap.hooks.base import Capping
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.cli.rules import Rule
    from tokcap.core.request import Value
    from tokcap.environment import Environment
    from tokcap.hooks.base import Installation

# Instead of the defaults of tokcap.
APART = ("token_limit", "keep")
USUAL: dict[str, Value] = {"token_limit": Capping.limit_tokens, "keep": Capping.keep}


def capping_of(options: Sequence[str], env: Environment, subject: Sequence[str] = ()) -> Capping | None:
    """Return what applies with these options of tokcap; None if tokcap would refuse the call.

    `subject` has the words of the command, or the name of the tool, for the rules.
    """
    words = take_apart([*options, "--", "true"], "run")
    if words.problems:
        return None
    try:
        values = decide(words.given, "run", env, USUAL, subject)
        request = run_request(words.rest, values)
    except UsageError:
        return None
    rule: Rule | None = None
    if subject and (rules := config_of(env).rules):
        from tokcap.cli.rules import decisive

        rule = decisive(rules, subject)
    passes = bool(rule) and request.token_limit is None
    # The limit and the policy are told apart.
    own = () if rule is None else tuple((key, values[key]) for key in rule.values if key not in APART)
    limit = request.token_limit or Capping.limit_tokens
    return Capping(limit, request.keep, request.tokenizer, tuple(map(as_word, own)), passes)


def as_word(setting: tuple[str, Value]) -> str:
    """Return a setting as an option of tokcap."""
    key, value = setting
    if isinstance(value, bool):
        return flag_of(key) if value else f"--no-{key}"
    return f"{flag_of(key)}={value}"


def capping_for(found: Installation, env: Environment) -> Capping:
    """Return what applies to the results of an installed hook."""
    from tokcap.hooks.handler import launch_options

    try:
        return capping_of(launch_options(found), env) or Capping()
    except ValueError:
        # Somebody has edited the hook.
        return Capping()


class HookRun:
    """`tokcap hook run`, which an agent waits for before or after each of its tools."""

    def answer(self, words: Sequence[str], env: Environment) -> int:
        """Answer the event on standard input."""
        from tokcap.hooks.handler import run

        return run(
            words,
            env,
            lambda options, variables, subject: capping_of(
                options, env.replace(variables=variables), subject
            ),
        )


HOOK_RUN = HookRun()
