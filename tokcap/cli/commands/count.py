"""`tokcap count FILE...`: count the tokens of files, like `wc`."""

from __future__ import annotations

import os

from tokcap import exits
from tokcap.cli.description import Argument, Command
from tokcap.cli.options import row_like
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

    # The count of a file, or why it could not be counted.
    Counted = tuple[str, "FileCount | str"]

STANDARD_INPUT = "-"
READ_BYTES = 1 << 20
# The longest name that a system allows.
LONGEST_NAME = 4096
# What decides how tokens are counted.
TOKENIZER_KEYS = ("tokenizer", "model", "tokenizer_match")


def count(
    env: Environment,
    files: Sequence[str] = (),
    tokenizer: str | None = None,
    model: str | None = None,
    output: str | None = None,
) -> int:
    from tokcap.tokens import open_tokenizer

    reply, stopwatch = Reply(env, output), env.stopwatch()
    view = view_of(tokenizer, model, env)
    opened = open_tokenizer(view.tokenizer, env)
    notices = notices_of(view, opened)
    is_exact = opened.units_per_token == 1 and view.tokenizer_match == "own"
    counted = []
    for path, found in count_all(files or (STANDARD_INPUT,), opened, env):
        counted.append((path, found))
        if reply.is_text and isinstance(found, str):
            env.tell(f"count: {name_of(path)}: {found}")
    total = sum(found.tokens for _, found in counted if not isinstance(found, str))
    failed = sum(isinstance(found, str) for _, found in counted)
    status = exits.NO if failed else exits.OK
    if reply.is_text:
        reply.say(table(counted, total, named=bool(files)))
        for notice in notices:
            env.tell(f"warning: {notice.message}")
        return status
    from tokcap.core.response import Failure

    problem = f"{failed} of {len(counted)} files could not be counted"
    return reply.give(
        [record_of(path, found) for path, found in counted],
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
    summary="Count the tokens of files: one line for each file, and the total of several.",
    details="Nothing is stored, and no session is charged. Bytes that are not UTF-8 count as their"
    " replacement text.",
    arguments=(
        Argument(
            "FILES", "a file; - or none: standard input", required=False, repeatable=True, names="files"
        ),
    ),
    options=(
        row_like("tokenizer", "the tokenizer to count with"),
        row_like("model", "the model whose tokenizer is used"),
        row_like("output"),
    ),
    epilog="Exit status 1: a file could not be counted; the others were. Example: git diff | tokcap count.",
    handler=count,
)


def view_of(tokenizer: str | None, model: str | None, env: Environment) -> View:
    """Return the tokenizer and the model that flags, variables, config file or default choose."""
    from tokcap.cli.arguments import decide
    from tokcap.cli.options import BY_KEY
    from tokcap.core.request import View

    given = {"tokenizer": tokenizer, "model": model}
    flags = [(BY_KEY[key], value) for key, value in given.items() if value is not None]
    decided = decide(flags, "run", env)
    return View().replace(**{key: decided[key] for key in TOKENIZER_KEYS if key in decided})


def notices_of(view: View, tokenizer: Tokenizer) -> tuple[Notice, ...]:
    """Return a warning if the model counts differently, or if the counts are estimates."""
    if not view.model and tokenizer.units_per_token == 1:
        return ()
    from tokcap.steps.examination import notices_about_tokenizer

    return notices_about_tokenizer(view.replace(token_count=True), tokenizer)


def count_all(files: Sequence[str], tokenizer: Tokenizer, env: Environment) -> Iterator[Counted]:
    """Count the files one after the other."""
    for path in files:
        try:
            found: FileCount | str = count_file(path, tokenizer, env)
        except OSError as error:
            from tokcap.system.shortage import shortage_of

            if shortage_of(error):
                raise
            found = error.strerror or str(error)
        except TokcapError as error:
            found = str(error)
        yield path, found


def table(counted: Sequence[Counted], total: int, *, named: bool) -> str:
    """Return a line for each file that was counted, and the total of several."""
    rows = [(found.tokens, name_of(path)) for path, found in counted if not isinstance(found, str)]
    if not named:
        return "".join(f"{tokens}\n" for tokens, _ in rows)
    if len(counted) > 1:
        rows.append((total, "total"))
    width = max((len(str(tokens)) for tokens, _ in rows), default=0)
    return "".join(f"{tokens:>{width}} {name}\n" for tokens, name in rows)


def record_of(path: str, found: FileCount | str) -> dict[str, object]:
    """Return a file for programs."""
    from tokcap.steps.continuation import readable

    if isinstance(found, str):
        return {"path": readable(path), "error": found}
    record: dict[str, object] = {"path": readable(path), "tokens": found.tokens, "bytes": found.size_bytes}
    return record if found.valid_utf8 else {**record, "binary": True}


def name_of(path: str) -> str:
    return printable(path, LONGEST_NAME)


class FileCount(Record):
    """What was counted."""

    tokens: int
    size_bytes: int
    valid_utf8: bool


def count_file(path: str, tokenizer: Tokenizer, env: Environment) -> FileCount:
    """Count a file; `OSError` or `TokcapError` if it cannot be read."""
    if path == STANDARD_INPUT:
        from tokcap.source.given import StandardInput

        return count_blocks((block for _, block in StandardInput(env).blocks()), tokenizer)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return count_blocks(blocks_of(descriptor), tokenizer)
    finally:
        os.close(descriptor)


def count_blocks(blocks: Iterable[bytes], tokenizer: Tokenizer) -> FileCount:
    units = size_bytes = 0
    valid_utf8 = True
    chunks = Chunks(iter(blocks), tokenizer)
    for chunk in chunks:
        units += chunks.tokenizer.units(as_text(chunk))
        size_bytes += len(chunk)
        valid_utf8 = valid_utf8 and is_utf8(chunk)
    return FileCount(tokens_of(units, tokenizer), size_bytes, valid_utf8)


def blocks_of(descriptor: int) -> Iterator[bytes]:
    while block := os.read(descriptor, READ_BYTES):
        yield block
