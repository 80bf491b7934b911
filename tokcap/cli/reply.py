"""How subcommands answer: plain text for people, the envelope for programs."""

from __future__ import annotations

from tokcap import exits
from tokcap.core.request import DEFAULTS
from tokcap.forms import FORMS
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokcap.core.notice import Notice
    from tokcap.core.request import Output
    from tokcap.core.response import Failure
    from tokcap.environment import Environment


class Reply:
    """The answer of one call, in the format that was asked for, else in the configured one."""

    def __init__(self, env: Environment, output: Output | None) -> None:
        self.env = env
        self.output = output or configured_output(env)

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
        """Write lines for people; on a terminal, break those that are too long for it."""
        from tokcap.system.screen import screen_of

        screen = screen_of(self.env, self.env.stdout)
        return self.say("".join(f"{part}\n" for line in lines for part in screen.wrapped(line, "  ")))

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
        from tokcap.lean.plainjson import compact

        if self.has_record_lines:
            records = data if isinstance(data, list) else [data]
            payload = b"".join(compact(record) + b"\n" for record in records)
        else:
            payload = compact(data)
        about = Meta(tokenizer=str(DEFAULTS["tokenizer"]), exit_code=status, exit_from="tokcap")
        response = Response(status, payload, failure, notices, about.but(**meta))
        self.env.write_stdout(FORMS[self.output].write(response))
        return status


def configured_output(env: Environment) -> Output:
    from tokcap.cli.arguments import wanted_output

    return wanted_output((), env)
