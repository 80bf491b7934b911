"""How subcommands answer: plain text for people, the envelope for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import orjson
import typer

from tokcap import exits
from tokcap.cli.arguments import wanted_output
from tokcap.cli.options import BY_KEY
from tokcap.core.response import Meta, Response
from tokcap.forms import FORMS

if TYPE_CHECKING:
    from tokcap.core.notice import Notice
    from tokcap.environment import Environment

# The option of every subcommand that can answer programs.
Output = Annotated[
    Literal["text", "json", "jsonl"] | None, typer.Option("-o", "--output", help="form of the response")
]


class Reply:
    """The answer of one call: in the form that was asked for, or else in the one that is configured."""

    def __init__(self, context: typer.Context, output: Literal["text", "json", "jsonl"] | None) -> None:
        self.env: Environment = context.obj
        self.output = output or wanted_output((), self.env)

    @property
    def is_text(self) -> bool:
        return self.output == "text"

    def say(self, text: str) -> int:
        """Text for people; returns the exit status."""
        self.env.write_stdout(text.encode("utf-8", "surrogateescape"))
        return exits.OK

    def give(
        self, data: object, notices: tuple[Notice, ...] = (), *, status: int = exits.OK, **meta: object
    ) -> int:
        """An envelope, or a line for each record; returns the exit status."""
        if self.output == "jsonl":
            records = data if isinstance(data, list) else [data]
            payload = b"".join(orjson.dumps(record) + b"\n" for record in records)
        else:
            payload = orjson.dumps(data)
        about = Meta(tokenizer=str(BY_KEY["tokenizer"].default), exit_code=status, exit_from="tokcap")
        response = Response(status, payload, None, notices, about.but(**meta))
        self.env.write_stdout(FORMS[self.output].write(response))
        return status
