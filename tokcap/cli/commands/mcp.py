"""`tokcap mcp`: the server, with what it allows decided before the first call."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from tokcap.cli.arguments import decide, run_request
from tokcap.cli.described import Lists, about
from tokcap.cli.options import BY_KEY
from tokcap.environment import STDIN, STDOUT
from tokcap.errors import PackageMissing, StreamError
from tokcap.tokens import open_tokenizer

if TYPE_CHECKING:
    from tokcap.cli.options import Option
    from tokcap.environment import Environment


@about(
    ("tokcap mcp -n 2000 --total 50000", "no answer above 2,000 tokens, and 50,000 in all"),
    ("tokcap mcp --session review", "charge a session that others use too"),
    danger="runs_commands",
)
def mcp(
    context: typer.Context,
    token_limit: Annotated[
        int | None,
        typer.Option("-n", "--token-limit", min=1, show_default="4000", help="most tokens of any answer"),
    ] = None,
    session: Annotated[
        str, typer.Option("--session", help="charge every answer to this session"), Lists("sessions")
    ] = "",
    total: Annotated[
        int | None,
        typer.Option(min=1, help="start the session with this total; without a name it ends with the server"),
    ] = None,
    tokenizer: Annotated[str, typer.Option(help="the tokenizer that counts"), Lists("tokenizers")] = "",
) -> int:
    """Serve the tools run, show, grep and budget_status to an agent, over stdin and stdout.

    Speaks the Model Context Protocol until its client goes. No answer has more tokens than the limit,
    whatever a call asks for. Needs the package mcp: pip install 'tokcap[mcp]'
    """
    env: Environment = context.obj
    try:
        from tokcap.mcp.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("tokcap"):
            raise
        raise PackageMissing(
            "mcp: the package mcp, version 2, is not installed; pip install 'tokcap[mcp]'"
        ) from None
    from tokcap.mcp.server_settings import DEFAULT_LIMIT_TOKENS, ServerSettings, open_server_session

    flags: dict[str, object] = {"token_limit": token_limit, "session": session, "tokenizer": tokenizer}
    given: list[tuple[Option, str]] = [(BY_KEY[key], str(value)) for key, value in flags.items() if value]
    chosen = run_request((), decide(given, "run", env))
    open_tokenizer(chosen.tokenizer)
    if {STDIN, STDOUT} & env.closed:
        raise StreamError(
            "mcp: the protocol needs standard input and standard output, and one of them is closed"
        )
    if os.isatty(STDIN):
        env.tell("mcp: an agent is expected on standard input and output; Ctrl-C ends the server")
    with open_server_session(chosen.session, total, env) as opened:
        return serve(
            ServerSettings(
                limit_tokens=chosen.token_limit or DEFAULT_LIMIT_TOKENS,
                tokenizer=chosen.tokenizer,
                clean=chosen.clean,
                redact=chosen.redact,
                max_bytes=chosen.max_bytes,
                session=opened,
            )
        )
