"""What subcommands share: how they answer, how errors are reported, and which ledger and store they use."""

from __future__ import annotations

from tokcap import exits
from tokcap.budget import FILE_VARIABLE, VARIABLE, has_password
from tokcap.cli.arguments import config_of, wanted_output
from tokcap.core.request import DEFAULTS
from tokcap.errors import UsageError
from tokcap.outputs import FORMS
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokcap.core.request import View
    from tokcap.core.response import Failure, Notice
    from tokcap.environment import Environment
    from tokcap.errors import TokcapError


# How much of the last column of a table is shown even on the narrowest screen.
LEAST_ROOM = 12


class Reply:
    """The answer of one call, in the format that was asked for, else in the configured one."""

    def __init__(self, env: Environment, output: str | None) -> None:
        self.env = env
        self.output = output or wanted_output((), env)

    @property
    def is_text(self) -> bool:
        return not FORMS[self.output].has_envelope

    @property
    def has_record_lines(self) -> bool:
        return FORMS[self.output].has_record_lines

    def say(self, text: str) -> int:
        """Write text for people; return the exit status."""
        self.env.write_stdout(text.encode("utf-8", "surrogateescape"))
        return exits.OK

    def say_lines(self, lines: Iterable[str]) -> int:
        """Write lines for people."""
        return self.say("".join(f"{line}\n" for line in lines))

    def say_table(self, rows: Sequence[Sequence[str]], *, cut: bool = False) -> int:
        """Write aligned columns for people. The last one may be cut to the width of the terminal."""
        from tokcap.core.units import printable

        widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
        room = max(self.env.columns(self.env.stdout) - sum(widths) - 2 * len(widths), LEAST_ROOM)
        lines = []
        for *cells, last in rows:
            shown = [*map(str.ljust, cells, widths), printable(last, room) if cut else last]
            lines.append("  ".join(shown).rstrip())
        return self.say_lines(lines)

    def give(
        self,
        data: object,
        notices: tuple[Notice, ...] = (),
        *,
        status: int = exits.OK,
        failure: Failure | None = None,
        **meta: object,
    ) -> int:
        """Write an envelope, or one line for each record; return the exit status."""
        from tokcap.core.response import Meta, Response
        from tokcap.startup.plainjson import compact

        if self.has_record_lines:
            records = data if isinstance(data, list) else [data]
            payload = b"".join(compact(record) + b"\n" for record in records)
        else:
            payload = compact(data)
        about = Meta(tokenizer=str(DEFAULTS["tokenizer"]), exit_code=status, exit_from="tokcap")
        response = Response(status, payload, failure, notices, about.replace(**meta))
        self.env.write_stdout(FORMS[self.output].write(response))
        return status


def refuse(
    error: TokcapError, argv: Sequence[str], view: View | None, duration_ms: int, env: Environment
) -> int:
    """Report an error and return its exit status; `view` is None if the call could not be parsed."""
    message, envelope = str(error), b""
    try:
        output = view.output if view else wanted_output(argv, env)
        from tokcap.core.response import refusal
        from tokcap.steps.rescue import brief, envelope_written

        full = refusal(error, view.tokenizer if view else str(DEFAULTS["tokenizer"]), duration_ms)
        answer = brief(error, full, view)
        if answer.failure and answer.failure != full.failure:
            message = answer.failure.message
        envelope = envelope_written(answer, output)
    except Exception:  # noqa: S110
        # There is no memory left to make an envelope. The line on stderr and the exit status report the error
        # all the same.
        pass
    env.tell(message)
    try:
        env.write_stdout(envelope)
    except Exception:  # noqa: S110
        # Nobody reads the envelope.
        pass
    return error.exit_status


def with_ledger(env: Environment, given: str | None = None) -> Environment:
    """Return the environment with the ledger in its variables. `given` is the value of the flag."""
    if given:
        refuse_password(given)
        return env.replace(variables={**env.variables, VARIABLE: given})
    if env.variables.get(VARIABLE) or env.variables.get(FILE_VARIABLE):
        return env
    config = config_of(env).values
    chosen = {
        variable: str(config[key])
        for variable, key in ((VARIABLE, "ledger"), (FILE_VARIABLE, "ledger_file"))
        if config.get(key)
    }
    return env.replace(variables={**env.variables, **chosen}) if chosen else env


def with_store(env: Environment, given: str | None = None) -> Environment:
    """Return the environment with the store in its variables. `given` is the value of the flag."""
    from tokcap.store import VARIABLE as STORE_VARIABLE

    if not given and not env.variables.get(STORE_VARIABLE):
        given = str(config_of(env).values.get("store") or "")
    return env.replace(variables={**env.variables, STORE_VARIABLE: given}) if given else env


def refuse_password(url: str) -> None:
    """Refuse a URL with a password on the command line. The URL is not repeated in the message."""
    if has_password(url):
        raise UsageError(
            "--ledger: every user can see a password in the list of processes; use TOKCAP_LEDGER, a file"
            " (--ledger-file), or the engine's own way: PGPASSFILE, REDISCLI_AUTH"
        )
