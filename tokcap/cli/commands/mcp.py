"""`tokcap mcp`: serve agents over the Model Context Protocol. Limits are decided before the first call."""

from __future__ import annotations

import os

from tokcap.cli.description import Flag, command, flag_like
from tokcap.cli.kinds import Switch, WholeNumber
from tokcap.environment import STDIN, STDOUT
from tokcap.errors import StreamError
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.cli.options import Option
    from tokcap.environment import Environment


@command(
    "mcp",
    flags=(
        flag_like("token_limit", "maximum number of tokens in one answer", shown_default="4000"),
        flag_like("session", "charge every answer to this session"),
        Flag(
            ("--total",),
            "start the session with this total; without a name it ends with the server",
            WholeNumber(1),
            "N",
        ),
        flag_like("tokenizer", "the tokenizer to count with"),
        Flag(
            ("--structured",),
            "answer with structured content, for clients that show nothing else",
            Switch(),
            "",
            False,
            "off",
        ),
    ),
    examples=(
        ("tokcap mcp -n 2000 --total 50000", "at most 2,000 tokens per answer, and 50,000 in total"),
        ("tokcap mcp --session review", "charge a session that other programs use too"),
    ),
    danger="runs_commands",
    quick=True,
)
def mcp(
    env: Environment,
    *,
    token_limit: int | None,
    session: str | None,
    total: int | None,
    tokenizer: str | None,
    structured: bool,
) -> int:
    """Serve the tools run, show, grep and budget_status to an agent, over stdin and stdout.

    Speaks the Model Context Protocol until the client disconnects. No answer has more tokens than the limit,
    whatever a call asks for. The text of an answer has everything: output, exit status, handle and the next
    call.
    """
    from tokcap.cli.arguments import run_request
    from tokcap.cli.options import BY_KEY
    from tokcap.cli.values import decide
    from tokcap.mcp.server import serve
    from tokcap.mcp.server_settings import DEFAULT_LIMIT_TOKENS, ServerSettings
    from tokcap.tokens import open_tokenizer

    flags: dict[str, object] = {"token_limit": token_limit, "session": session, "tokenizer": tokenizer}
    given: list[tuple[Option, str]] = [(BY_KEY[key], str(value)) for key, value in flags.items() if value]
    chosen = run_request((), decide(given, "run", env))
    open_tokenizer(chosen.tokenizer)
    if {STDIN, STDOUT} & env.closed:
        raise StreamError(
            "mcp: the protocol needs standard input and standard output, and one of them is closed"
        )
    if os.isatty(STDIN):
        env.tell("mcp: waiting for an agent on standard input and output; Ctrl-C stops the server")
    settings = ServerSettings(
        limit_tokens=chosen.token_limit or DEFAULT_LIMIT_TOKENS,
        tokenizer=chosen.tokenizer,
        clean=chosen.clean,
        redact=chosen.redact,
        max_bytes=chosen.max_bytes,
        structured=structured,
    )
    if not chosen.session and total is None:
        return serve(settings)
    from tokcap.mcp.server_session import open_server_session

    with open_server_session(chosen.session, total, env) as opened:
        return serve(settings.but(session=opened))


COMMANDS = (mcp,)
