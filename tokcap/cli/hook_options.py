"""What applies to the results of a hook: its options, variables, the config file, or defaults of hooks."""

from __future__ import annotations

from tokcap.cli.arguments import decide, run_request, take_apart
from tokcap.errors import UsageError
from tokcap.hooks.base import Capping
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.request import Value
    from tokcap.environment import Environment
    from tokcap.hooks.base import Installation

# Instead of the defaults of tokcap.
USUAL: dict[str, Value] = {"token_limit": Capping.limit_tokens, "keep": Capping.keep}


def capping_of(options: Sequence[str], env: Environment) -> Capping | None:
    """Return what applies with these options of tokcap; None if tokcap would refuse the call."""
    words = take_apart([*options, "--", "true"], "run")
    if words.problems:
        return None
    try:
        request = run_request(words.rest, decide(words.given, "run", env, USUAL))
    except UsageError:
        return None
    return Capping(request.token_limit or Capping.limit_tokens, request.keep, request.tokenizer)


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
            words, env, lambda options, variables: capping_of(options, env.replace(variables=variables))
        )


HOOK_RUN = HookRun()
