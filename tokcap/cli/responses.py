"""How subcommands answer: plain text for people, the envelope for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from tokcap import exits
from tokcap.envelope import Meta, Response, rendered
from tokcap.options import BY_KEY

if TYPE_CHECKING:
    from tokcap.environment import Environment
    from tokcap.types import Notice, Output


def say(text: str, env: Environment) -> None:
    """Text for people."""
    env.write_stdout(text.encode("utf-8", "surrogateescape"))


def respond(
    data: object,
    output: Output,
    env: Environment,
    notices: tuple[Notice, ...] = (),
    *,
    status: int = exits.OK,
    **meta: object,
) -> int:
    """An envelope, or a line for each record; returns the exit status."""
    if output == "jsonl":
        records = data if isinstance(data, list) else [data]
        payload = b"".join(orjson.dumps(record) + b"\n" for record in records)
    else:
        payload = orjson.dumps(data)
    about = Meta(tokenizer=str(BY_KEY["tokenizer"].default), exit_code=status, exit_from="tokcap").but(**meta)
    env.write_stdout(rendered(Response(status, payload, None, notices, about), output))
    return status
