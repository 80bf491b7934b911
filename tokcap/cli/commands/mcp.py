"""`tokcap mcp`: serve agents over the Model Context Protocol, or cap the results of another server."""

from __future__ import annotations

import os

from tokcap import exits
from tokcap.cli.description import Argument, Flag, command, flag_like
from tokcap.cli.kinds import LineOfText, Name, Switch, WholeNumber
from tokcap.environment import STDIN, STDOUT
from tokcap.errors import StreamError, UsageError
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokcap.cli.options import Option
    from tokcap.environment import Environment
    from tokcap.mcp.server_settings import ServerSettings

LIMIT = flag_like("token_limit", "maximum number of tokens in one answer", shown_default="4000")
SESSION = flag_like("session", "charge every answer to this session")
TOTAL = Flag(
    ("--total",),
    "start the session with this total; without a name it ends with the server",
    WholeNumber(1),
    "N",
)
TOKENIZER = flag_like("tokenizer", "the tokenizer to count with")
KEEP = flag_like("keep", "which part of an answer over the limit to show", shown_default="auto")


@command(
    "mcp",
    flags=(
        LIMIT,
        KEEP,
        SESSION,
        TOTAL,
        TOKENIZER,
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
    keep: str | None,
    session: str | None,
    total: int | None,
    tokenizer: str | None,
    structured: bool,
) -> int:
    """Serve the tools run, show, grep and budget_status to an agent, over stdin and stdout.

    Speaks the Model Context Protocol until the client disconnects. No answer has more tokens than the limit,
    whatever a call asks for. The text of an answer has everything: output, exit status, handle and the next
    call. To cap the results of another server, use tokcap mcp wrap.
    """
    from tokcap.mcp.server import serve

    flags: dict[str, object] = {
        "token_limit": token_limit,
        "keep": keep,
        "session": session,
        "tokenizer": tokenizer,
    }
    settings, name = settings_of(flags, env)
    return with_session(settings.but(structured=structured), name, total, env, serve)


@command(
    "mcp",
    "wrap",
    arguments=(
        Argument(
            "SERVER",
            "the command that starts the server, and its arguments",
            required=False,
            repeatable=True,
            is_command=True,
        ),
    ),
    flags=(
        LIMIT,
        KEEP,
        SESSION,
        TOTAL,
        TOKENIZER,
        flag_like("clean", "remove ANSI escapes, progress frames and trailing spaces from results"),
        flag_like("redact", "mask what looks like a secret in results, and in what is stored"),
        Flag(("--url",), "a server over HTTP instead of a command", Name(expected="a URL"), "URL"),
        Flag(
            ("--header",),
            "with --url: send this header; ${NAME} is a variable, @FILE a file with headers; repeatable",
            LineOfText(),
            "HEADER",
            repeatable=True,
        ),
    ),
    examples=(
        (
            "tokcap mcp wrap -n 2000 -- npx -y @modelcontextprotocol/server-memory",
            "cap the results of a server that an agent starts",
        ),
        (
            "tokcap mcp wrap --url https://example.com/mcp --header @token.txt",
            "the same for a server on the web, with a secret header from a file",
        ),
    ),
    danger="runs_commands",
    quick=True,
)
def mcp_wrap(
    env: Environment,
    *,
    server: Sequence[str],
    token_limit: int | None,
    keep: str | None,
    session: str | None,
    total: int | None,
    tokenizer: str | None,
    clean: bool | None,
    redact: bool | None,
    url: str | None,
    header: Sequence[str],
) -> int:
    """Stand in front of another MCP server and cap every tool result.

    Text and JSON over the limit are cut and stored, and the tool tokcap_show, which is added to those of the
    server, reads the rest. Everything else passes unchanged. The exit status is that of the server.
    """
    if bool(server) == bool(url):
        raise UsageError("give either a SERVER to start, after --, or --url")
    if header and not url:
        raise UsageError("--header works only with --url")
    flags: dict[str, object] = {
        "token_limit": token_limit,
        "keep": keep,
        "session": session,
        "tokenizer": tokenizer,
        "clean": clean,
        "redact": redact,
    }
    settings, name = settings_of(flags, env)
    from tokcap.mcp.wrap.proxy import wrap

    def serve(settings: ServerSettings) -> int:
        if url:
            from tokcap.mcp.wrap.headers import headers_of
            from tokcap.mcp.wrap.http_server import HttpServer

            return wrap(settings, lambda: HttpServer(url, headers_of(header, env.variables)))
        from tokcap.mcp.wrap.child_server import ChildServer

        return wrap(settings, lambda: ChildServer(server))

    return with_session(settings, name, total, env, serve)


EXITS_OF_WRAP = (*mcp_wrap.exit_codes, exits.NOT_EXECUTABLE, exits.NOT_FOUND)
COMMANDS = (mcp, mcp_wrap.but(exit_codes=EXITS_OF_WRAP))


def settings_of(flags: dict[str, object], env: Environment) -> tuple[ServerSettings, str]:
    """Return the settings that flags, variables, config file and defaults choose, and the session's name."""
    from tokcap.cli.arguments import run_request
    from tokcap.cli.options import BY_KEY
    from tokcap.cli.values import config_of, decide
    from tokcap.mcp.server_settings import DEFAULT_KEEP, DEFAULT_LIMIT_TOKENS, ServerSettings
    from tokcap.store import VARIABLE as STORE_VARIABLE
    from tokcap.store import open_store
    from tokcap.tokens import open_tokenizer

    given: list[tuple[Option, str]] = [(BY_KEY[key], str(value)) for key, value in flags.items() if value]
    chosen = run_request((), decide(given, "run", env))
    # The default of a plain call is for people, who read on by themselves.
    is_keep_chosen = flags["keep"] or BY_KEY["keep"].text_in(env.variables) or "keep" in config_of(env).values
    open_tokenizer(chosen.tokenizer, env)
    if chosen.store:
        # The tools are calls of the library, which reads variables and no config file.
        open_store(env, chosen.store)
        os.environ[STORE_VARIABLE] = chosen.store
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
        keep=chosen.keep if is_keep_chosen else DEFAULT_KEEP,
    )
    return settings, chosen.session


def with_session(
    settings: ServerSettings,
    name: str,
    total: int | None,
    env: Environment,
    serve: Callable[[ServerSettings], int],
) -> int:
    """Serve with a session, if there is one, and return the exit status."""
    if not name and total is None:
        return serve(settings)
    from tokcap.mcp.server_session import open_server_session

    with open_server_session(name, total, env) as opened:
        return serve(settings.but(session=opened))
