"""`tokcap count PATH...`: count the tokens of files, like `wc`, and of directories, like `du`."""

from __future__ import annotations

import os

from tokcap import exits
from tokcap.cli.description import Argument, Command
from tokcap.cli.kinds import WholeNumber
from tokcap.cli.options import own_option, row_like
from tokcap.cli.reply import Reply
from tokcap.core.tokenizer import tokens_of
from tokcap.core.units import printable
from tokcap.errors import TokcapError
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.tokens.chunks import Chunks, as_text, is_utf8

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokcap.core.request import View
    from tokcap.core.response import Notice
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment

STANDARD_INPUT = "-"
READ_BYTES = 1 << 20
# The longest name that a system allows.
LONGEST_NAME = 4096
# What decides how tokens are counted, and what they are compared with.
VIEW_KEYS = ("tokenizer", "model", "tokenizer_match", "context_window")
# Whether a file in a directory is binary: like git, look for a zero byte in the beginning.
BINARY_BYTES = 8000


def count(
    env: Environment,
    paths: Sequence[str] = (),
    tokenizer: str | None = None,
    model: str | None = None,
    context_window: int | None = None,
    top: int | None = None,
    output: str | None = None,
) -> int:
    from tokcap.tokens import open_tokenizer

    reply, stopwatch = Reply(env, output), env.stopwatch()
    view = view_of(env, tokenizer=tokenizer, model=model, context_window=context_window)
    opened = open_tokenizer(view.tokenizer, env)
    notices = notices_of(view, opened)
    is_exact = opened.units_per_token == 1 and (not view.model or view.tokenizer_match == "own")
    # A model of the configuration decides how to count, not what is asked.
    window = view.context_window if model or context_window else None
    rows: list[Row] = []
    for path in paths or (STANDARD_INPUT,):
        if path != STANDARD_INPUT and os.path.isdir(path):
            from tokcap.cli.commands.count_tree import tree_of

            rows += tree_of(path, opened, env)
        else:
            rows.append(count_file(path, opened, env))
    files = [row for row in rows if row.files is None]
    failed = [row for row in files if row.problem]
    total = sum(row.tokens or 0 for row in files)
    if top is not None:
        largest = sorted(files, key=lambda row: (-(row.tokens or 0), row.path))
        rows = [row.replace(depth=0) for row in largest if row.tokens is not None][:top] + failed
    status = exits.NO if failed else exits.OK
    if reply.is_text:
        for row in failed:
            env.tell(f"count: {name_of(row.path)}: {row.problem}")
        has_total = len(paths) > 1 or top is not None
        counted = [row for row in rows if not row.problem]
        reply.say(table(counted, total if has_total else None, named=bool(paths)))
        if window:
            reply.say(answer(total, window, exact=is_exact))
        for notice in notices:
            env.tell(f"warning: {notice.message}")
        return status
    from tokcap.core.response import Failure

    records = [record_of(row) for row in rows]
    if window:
        records.append({"tokens": total, "context_window": window, "fits": total <= window})
    problem = f"{len(failed)} of {len(files)} files could not be counted"
    return reply.give(
        records,
        notices,
        status=status,
        failure=Failure("NOT_FOUND", problem) if failed else None,
        duration_ms=stopwatch.milliseconds,
        tokenizer=opened.name,
        tokenizer_digest=opened.digest or None,
        tokenizer_exact=is_exact if view.model or opened.units_per_token > 1 else None,
        token_count=total,
    )


COUNT = Command(
    path=("count",),
    summary="Count the tokens of files and directories: one line for each, and the total of several.",
    details="A directory is shown as a tree, the largest parts first, and counted on all cores. Files that"
    " git would ignore are left out, and so are links; one with zero bytes is named as binary, not counted."
    " Nothing is stored, no session is charged. Bytes that are not UTF-8 count as their replacement text.",
    arguments=(
        Argument(
            "PATHS",
            "a file or a directory; - or none: standard input",
            required=False,
            repeatable=True,
            names="files",
        ),
    ),
    options=(
        row_like("tokenizer", "the tokenizer to count with"),
        row_like("model", "the model whose tokenizer and context window are used"),
        row_like("context_window", "say in the last line whether all of it fits into N tokens"),
        own_option("top", WholeNumber(1), "show only the N files with the most tokens, and the total", "N"),
        row_like("output"),
    ),
    epilog="Exit status 1: a file could not be counted; the others were. Example: git diff | tokcap count.",
    handler=count,
)


def view_of(env: Environment, **given: str | int | None) -> View:
    """Return the tokenizer and the model that flags, variables, config file or default choose."""
    from tokcap.cli.arguments import decide
    from tokcap.cli.options import BY_KEY
    from tokcap.core.request import View

    flags = [(BY_KEY[key], str(value)) for key, value in given.items() if value is not None]
    decided = decide(flags, "run", env)
    return View().replace(**{key: decided[key] for key in VIEW_KEYS if key in decided})


def notices_of(view: View, tokenizer: Tokenizer) -> tuple[Notice, ...]:
    """Return a warning if the model counts differently, or if the counts are estimates."""
    if not view.model and tokenizer.units_per_token == 1:
        return ()
    from tokcap.steps.examination import notices_about_tokenizer

    return notices_about_tokenizer(view.replace(token_count=True), tokenizer)


class Row(Record):
    """A file or a directory, and what was counted."""

    path: str
    # None: it is binary, or could not be counted.
    tokens: int | None = None
    size_bytes: int = 0
    valid_utf8: bool = True
    # Why it could not be counted.
    problem: str = ""
    # How many directories are above it in the tree that is shown.
    depth: int = 0
    # How many files are below a directory; None for a file.
    files: int | None = None


def count_file(path: str, tokenizer: Tokenizer, env: Environment, *, skips_binary: bool = False) -> Row:
    """Count a file, or say why that is not possible."""
    try:
        if path == STANDARD_INPUT:
            from tokcap.source.given import StandardInput

            return count_blocks(path, (block for _, block in StandardInput(env).blocks()), tokenizer)
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if skips_binary and b"\0" in os.pread(descriptor, BINARY_BYTES, 0):
                return Row(path)
            return count_blocks(path, blocks_of(descriptor), tokenizer)
        finally:
            os.close(descriptor)
    except OSError as error:
        from tokcap.system.shortage import shortage_of

        if shortage_of(error):
            raise
        return Row(path, problem=error.strerror or str(error))
    except TokcapError as error:
        return Row(path, problem=str(error))


def table(rows: Sequence[Row], total: int | None, *, named: bool) -> str:
    """Return a line for each row, and the total of several."""
    lines = [("-" if row.tokens is None else str(row.tokens), shown_name(row)) for row in rows]
    if not named:
        return "".join(f"{tokens}\n" for tokens, _ in lines)
    if total is not None:
        lines.append((str(total), "total"))
    width = max((len(tokens) for tokens, _ in lines), default=0)
    return "".join(f"{tokens:>{width}} {name}\n" for tokens, name in lines)


def shown_name(row: Row) -> str:
    name = os.path.basename(row.path) if row.depth else row.path
    ending = "/" if row.files is not None and not name.endswith("/") else ""
    return f"{'  ' * row.depth}{name_of(name)}{ending}{' (binary)' if row.tokens is None else ''}"


def answer(tokens: int, window: int, *, exact: bool) -> str:
    """Return the line that says whether everything fits into a context window."""
    word, about = "fits" if tokens <= window else "does not fit", "" if exact else "about "
    return f"{word}: {about}{tokens} of {window} tokens, {100 * tokens / window:.0f} %\n"


def record_of(row: Row) -> dict[str, object]:
    """Return a file or a directory for programs."""
    from tokcap.steps.continuation import readable

    path = readable(row.path)
    if row.problem:
        return {"path": path, "error": row.problem}
    if row.tokens is None:
        return {"path": path, "binary": True}
    record: dict[str, object] = {"path": path, "tokens": row.tokens, "bytes": row.size_bytes}
    if row.files is not None:
        return {**record, "files": row.files}
    return record if row.valid_utf8 else {**record, "binary": True}


def name_of(path: str) -> str:
    return printable(path, LONGEST_NAME)


def count_blocks(path: str, blocks: Iterable[bytes], tokenizer: Tokenizer) -> Row:
    units = size_bytes = 0
    valid_utf8 = True
    chunks = Chunks(iter(blocks), tokenizer)
    for chunk in chunks:
        units += chunks.tokenizer.units(as_text(chunk))
        size_bytes += len(chunk)
        valid_utf8 = valid_utf8 and is_utf8(chunk)
    return Row(path, tokens_of(units, tokenizer), size_bytes, valid_utf8)


def blocks_of(descriptor: int) -> Iterator[bytes]:
    while block := os.read(descriptor, READ_BYTES):
        yield block
