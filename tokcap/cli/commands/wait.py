"""`tokcap wait NAME`: what a running command has written since its reader looked last."""

from __future__ import annotations

from tokcap import exits
from tokcap.cli.arguments import decide, wait_request
from tokcap.cli.description import Argument, Command
from tokcap.cli.kinds import Duration, LineOfText
from tokcap.cli.options import BY_KEY, own_option, row_like
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.core.request import Value
    from tokcap.environment import Environment


class Patience(Duration):
    """How long to wait: a duration, or 0 to only look."""

    def read(self, raw: str) -> float:
        return 0.0 if raw == "0" else super().read(raw)


def wait(
    env: Environment,
    name: str,
    until: str = "",
    timeout: float | None = None,
    since: str = "",
    **given: Value,
) -> int:
    from tokcap.pipeline import wait

    flags = [(BY_KEY[key], str(value)) for key, value in given.items()]
    values = decide(flags, "show", env)
    return wait(wait_request(name, values, until=until, since=since, timeout=timeout), env).status


WAIT = Command(
    path=("wait",),
    summary="Wait for a running command, and show what it has written since this reader looked last.",
    details="The last line says how the command stands: [RUNNING], or [EXITED 0] with its exit status."
    " Within a session tokcap knows where this reader has stopped; else the line has the --since of the next"
    " call.",
    arguments=(
        Argument(
            "NAME", "@running, or the name in spill list or in a mark, such as @lake917", names="handles"
        ),
    ),
    options=(
        own_option("until", LineOfText(), "wait until a line matches", "REGEX"),
        own_option("timeout", Patience(), "wait at most this long; 0: only look", "DURATION"),
        own_option("since", LineOfText(), "begin at the place that the last answer has named", "PLACE"),
        row_like("token_limit"),
        row_like("tokenizer"),
        row_like("session"),
        row_like("output"),
    ),
    epilog="Exit status: 0 if the pattern appeared, that of the command if it has ended, 124 if the time is"
    " up, 1 if there is no such output. Example: tokcap -n 500 make & tokcap wait @running --timeout 60.",
    exit_codes=(
        exits.OK,
        exits.NO,
        exits.BAD_USAGE,
        exits.BUDGET_EXHAUSTED,
        exits.TIMED_OUT,
        exits.OWN_FAILURE,
    ),
    handler=wait,
)
