"""`tokcap mcp`: serve agents over the Model Context Protocol, or cap the results of another server."""

from __future__ import annotations

import os

from tokcap import exits
from tokcap.cli.description import Argument, Command
from tokcap.cli.kinds import LineOfText, Name, WholeNumber
from tokcap.cli.options import BY_KEY, own_option, row_like
from tokcap.environment import STDIN, STDOUT
from tokcap.errors import StreamError, UsageError
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokcap.cli.options import Option
    from tokcap.environment import Environment
    from tokcap.mcp.settings import ServerSettings

COMMON = (
    row_like("token_limit", "most tokens in one answer; default: 4000"),
    row_like("keep", "which part of an answer over the limit to show; default: auto"),
    row_like("session", "charge every answer to this session"),
    own_option(
        "total", WholeNumber(1), "start the session with this total; without a name it ends here", "N"
    ),
    row_like("tokenizer", "the tokenizer to count with"),
    row_like("redact", "mask secrets in results, and in what is stored"),
)


def serve_agent(env: Environment, total: int | None = None, **flags: object) -> int:
    from tokcap.mcp.server import serve

    settings, name = settings_of(flags, env)
    return with_session(settings, name, total, env, serve)


MCP = Command(
    path=("mcp",),
    summary="Serve the tools run, wait, show, grep and budget_status to an agent, over stdin and stdout.",
    details="Speaks the Model Context Protocol until the client disconnects. No answer has more tokens than"
    " the limit, whatever a call asks for. The text of an answer has everything: output, exit status, handle"
    " and the next call. To cap the results of another server, use tokcap mcp wrap.",
    options=COMMON,
    epilog="Example: tokcap mcp -n 2000 --total 50000.",
    handler=serve_agent,
)


def wrap_server(
    env: Environment,
    server: Sequence[str] = (),
    total: int | None = None,
    url: str = "",
    header: Sequence[str] = (),
    **flags: object,
) -> int:
    if bool(server) == bool(url):
        raise UsageError("give either a SERVER to start, after --, or --url")
    if header and not url:
        raise UsageError("--header works only with --url")
    settings, name = settings_of(flags, env)
    from tokcap.mcp.proxy import wrap

    def serve(settings: ServerSettings) -> int:
        if url:
            try:
                from tokcap.mcp.http_server import HttpServer, headers_of
            except ModuleNotFoundError:
                from tokcap.system.installation import command_to_add

                raise UsageError(f"--url needs a package; install it: {command_to_add('mcp')}") from None

            return wrap(settings, lambda: HttpServer(url, headers_of(header, env.variables)))
        from tokcap.mcp.child_server import ChildServer

        return wrap(settings, lambda: ChildServer(server))

    return with_session(settings, name, total, env, serve)


WRAP = Command(
    path=("mcp", "wrap"),
    summary="Stand in front of another MCP server and cap all that it brings into the context.",
    details="What is over the limit is cut and stored, and the added tool tokcap_show reads the rest."
    " Everything else passes unchanged. The exit status is that of the server.",
    arguments=(
        Argument(
            "SERVER", "the command that starts the server, and its arguments", required=False, repeatable=True
        ),
    ),
    options=(
        *COMMON,
        row_like("clean", "remove ANSI escapes and progress frames from results"),
        own_option("url", Name(expected="a URL"), "a server over HTTP instead of a command", "URL"),
        own_option(
            "header",
            LineOfText(),
            "with --url: send this header; ${NAME} is a variable; repeatable",
            "HEADER",
        ),
    ),
    epilog="Example: tokcap mcp wrap -n 2000 -- npx -y @modelcontextprotocol/server-memory.",
    exit_codes=(0, 1, 2, 125, exits.NOT_EXECUTABLE, exits.NOT_FOUND),
    handler=wrap_server,
    ends_at_word=True,
    repeatable=("header",),
)


def settings_of(flags: dict[str, object], env: Environment) -> tuple[ServerSettings, str]:
    """Return the settings that flags, variables, config file and defaults choose, and the session's name."""
    from tokcap.cli.arguments import config_of, decide, run_request
    from tokcap.mcp.settings import DEFAULT_KEEP, DEFAULT_LIMIT_TOKENS, ServerSettings
    from tokcap.store import VARIABLE as STORE_VARIABLE
    from tokcap.store import open_store
    from tokcap.tokens import open_tokenizer

    given: list[tuple[Option, str]] = [(BY_KEY[key], str(value)) for key, value in flags.items() if value]
    chosen = run_request((), decide(given, "run", env))
    by_user = {key for key, option in BY_KEY.items() if flags.get(key) or option.text_in(env.variables)}
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
        # The default of a plain call is for people, who read on by themselves.
        keep=chosen.keep if "keep" in {*by_user, *config_of(env).values} else DEFAULT_KEEP,
        given=frozenset(by_user),
    )
    return settings, chosen.session


def with_session(
    settings: ServerSettings,
    name: str,
    total: int | None,
    env: Environment,
    serve: Callable[[ServerSettings], int],
) -> int:
    """Serve with a session, if there is one, and return the exit status.

    A named session must exist, unless a total is given to start it with. It stays after the server has ended.
    A session without a name ends with the server.
    """
    if not name and total is None:
        return serve(settings)
    from tokcap.budget import open_ledger
    from tokcap.budget.arithmetic import Settings

    ledger = open_ledger(env)
    session = ledger.session(name or f"mcp-{os.urandom(4).hex()}")
    if total is None:
        # Raises an error if the session was never started. Otherwise a typing error would mean no limit.
        session.read()
    else:
        ledger.start(session.name, Settings(total))
    try:
        return serve(settings.replace(session=session))
    finally:
        if not name and ledger.has(session.name):
            session.end()
