"""`cap`, `count`, `run`, `show` and `pages`: the command line as functions. They use the same pipeline."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, AnyStr, overload

import tokcap.keep.head

# What `run` needs until its command has started. Python can lose an interrupt that comes while it imports a
# module, so this is loaded before the first call.
import tokcap.outputs.text
import tokcap.shapes.beginning
import tokcap.shapes.modes
import tokcap.source.command
import tokcap.steps.live
import tokcap.store.recorder
import tokcap.tokens.embedded  # noqa: F401
from tokcap.api.captured_environment import CapturedEnvironment, cap_captured, run_captured, show_captured
from tokcap.api.keywords import build_run_request, build_show_request, checked_argv
from tokcap.api.results import Capped, Result
from tokcap.core.payload import TextPayload
from tokcap.core.request import AUTO
from tokcap.errors import TokenizerFailed, TokenizerUnavailable, UsageError
from tokcap.steps.answer import answer_with_everything, certainly_fits, make_answer
from tokcap.steps.capture import Input
from tokcap.steps.continuation import Continuation
from tokcap.steps.examination import examine
from tokcap.steps.opening import open_source
from tokcap.store.handles import split_offset
from tokcap.tokens import open_index, open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Unpack

    from tokcap.api.captured_environment import CapturedCall, OpenSource
    from tokcap.api.keywords import CapOptions, PageOptions, RunOptions, ShowOptions
    from tokcap.core.request import Mode, Stream


def cap(text: AnyStr, limit: int | None, **options: Unpack[CapOptions]) -> Capped[AnyStr]:
    r"""Return at most `limit` tokens of a text, including the mark. The result has the type of `text`.

    >>> from tokcap import cap
    >>> page = cap("one\ntwo\nthree\nfour\n", 6, sentinel="")
    >>> page.text, page.truncated, page.returned_tokens, page.total_tokens
    ('one\ntwo\nthree\n', True, 6, 8)
    >>> cap("one\ntwo\nthree\nfour\n", 6, sentinel="", offset=page.next_offset).text
    'four\n'

    The options are those of the command line: `offset`, `tokenizer`, `shape`, `keep`, `align`, `sentinel`,
    `fields`, `mode`, `output`, … (see `CapOptions`). Nothing is stored unless `spill` is "auto" or "always".
    """
    data = encoded(text)
    request = build_run_request((), {"spill": "never", "account": False, **options, "limit": limit})
    captured = cap_captured(request, data)
    return capped(captured, decoded_like(text, captured.stdout_data))


def count(text: str | bytes, tokenizer: str = "cl100k_base") -> int:
    """Return the number of tokens in a text. It is exact, unless the tokenizer only estimates (`approx`).

    >>> from tokcap import count
    >>> count("Language models pay by the token."), count(b"\\xff", tokenizer="approx")
    (7, 1)
    """
    try:
        return open_index(TextPayload(encoded(text)), open_tokenizer(tokenizer)).total_tokens
    except TokenizerFailed as error:
        raise TokenizerUnavailable(f"{error}; nothing was counted") from None


def run(
    argv: Sequence[str | os.PathLike[str]],
    *,
    limit: int | None = None,
    input: str | bytes | None = None,  # noqa: A002  # the same name as in `subprocess`
    stdin: int | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    **options: Unpack[RunOptions],
) -> Result:
    r"""Run a command and return at most `limit` tokens of its output, together with its exit status.

    >>> from tokcap import run
    >>> result = run(["seq", "1", "1000"], limit=60)
    >>> result.stdout.splitlines()[-1]
    '[TRUNCATED] 38/2001 tokens; tokcap show sums203371687@38'
    >>> result.status, result.truncated, result.next_offset, result.handle
    (0, True, 38, 'sums203371687')

    A command that fails gives a result. A command that cannot be started, a bad argument and an exhausted
    budget raise a `TokcapError`. The options are those of the command line (see `RunOptions`). Output that
    is not shown is stored, unless `spill="never"`.

    The command reads `input`, or the descriptor `stdin`, or nothing. `run` can be called in any thread. It
    does not change the calling process and writes to none of its streams, except with `stderr="pass"`. On
    `KeyboardInterrupt` or any other exception, the command is stopped before the exception is raised.
    """
    environment = command_environment(input, stdin, cwd, env)
    return run_command(argv, {**options, "limit": limit}, environment)


def command_environment(
    stdin_text: str | bytes | None,
    stdin: int | None,
    directory: str | os.PathLike[str] | None,
    variables: Mapping[str, str] | None,
) -> CapturedEnvironment:
    """Return the environment in which `run` and `arun` start a command."""
    if stdin_text is not None and stdin is not None:
        raise TypeError("give input or stdin, not both")
    return CapturedEnvironment(
        variables=variables,
        directory=None if directory is None else os.fspath(directory),
        stdin=stdin,
        stdin_data=None if stdin_text is None else encoded(stdin_text),
    )


def run_command(
    argv: Sequence[str | os.PathLike[str]],
    options: Mapping[str, object],
    environment: CapturedEnvironment,
    open_source: OpenSource = open_source,
    running: str = "",
) -> Result:
    """Run a command in `environment`. `arun` passes `open_source` to be able to stop the command.

    `running` is the name of its output while it runs, which `start` has reserved.
    """
    request = build_run_request(checked_argv(argv), options).replace(running=running)
    captured = run_captured(request, environment, open_source)
    response = captured.response
    return Result(
        captured.stdout_data,
        response.meta,
        response.notices,
        captured.stderr_data,
        captured.status,
        response.failure,
        captured.words,
    )


def show(handle: str, *, limit: int | None = None, **options: Unpack[ShowOptions]) -> Capped[str]:
    r"""Return a window of a stored output, one of its values (`pointer`), or its matching lines (`grep`).

    >>> from tokcap import run, show
    >>> result = run(["seq", "1", "1000"], limit=60)
    >>> show(result.handle, offset=result.next_offset, limit=4, sentinel="").text
    '20\n21\n'
    >>> show(result.handle, grep="^1.*00$", limit=20, sentinel="").text
    '100:198:100\n1000:1998:1000\n'

    The default limit is that of the run that stored the output. If the output, the value or a matching line
    does not exist, `NotFound` is raised.
    """
    captured = show_captured(build_show_request(handle, {**options, "limit": limit}))
    return capped(captured, captured.stdout_data.decode("utf-8", "replace"))


def capped(captured: CapturedCall, text: AnyStr) -> Capped[AnyStr]:
    """Return the result of a call that ran no command."""
    response = captured.response
    return Capped(captured.stdout_data, response.meta, response.notices, text, captured.words)


@overload
def pages(text: AnyStr, limit: int, **options: Unpack[PageOptions]) -> Iterator[Capped[AnyStr]]: ...


@overload
def pages(
    *, handle: str, limit: int | None = None, stream: Stream = "out", **options: Unpack[PageOptions]
) -> Iterator[Capped[str]]: ...


def pages(
    text: Any = None,
    limit: int | None = None,
    *,
    handle: str | None = None,
    stream: Stream = "out",
    **options: Unpack[PageOptions],
) -> Iterator[Capped[Any]]:
    r"""Return all windows of a text, or of a stored output (`handle`), each of at most `limit` tokens.

    >>> from tokcap import pages
    >>> [page.text for page in pages("one\ntwo\nthree\nfour\n", 4)]
    ['one\ntwo\n', 'three\nfour\n']

    By default the pages are cut as text and have no mark: joined, they are the original. With `shape="auto"`
    a JSON document is returned as several documents that together hold all of its values. With a `sentinel`,
    every page except the last ends with the mark.
    """
    chosen: PageOptions = {"sentinel": "", "shape": "text", **options}
    if (text is None) == (handle is None):
        raise TypeError("give a text or a handle")
    found = text_pages(text, limit, chosen) if handle is None else stored_pages(handle, limit, stream, chosen)
    return checked_progress(found)


def checked_progress(found: Iterator[Capped[Any]]) -> Iterator[Capped[Any]]:
    """Yield the pages. Refuse a limit that is too small to show anything."""
    for page in found:
        for notice in page.warnings:
            if notice.code == "LIMIT_TOO_SMALL":
                raise UsageError(f"limit: {notice.message}")
        yield page


def text_pages(text: AnyStr, limit: int | None, options: PageOptions) -> Iterator[Capped[AnyStr]]:
    """Yield the windows of a text."""
    view = build_run_request((), {**options, "limit": limit, "spill": "never", "account": False})
    if view.token_limit is None:
        raise UsageError("limit: pages need a limit")
    tokenizer = open_tokenizer(view.tokenizer)
    given = Input(TextPayload(encoded(text)))
    while True:
        if certainly_fits(view, given, tokenizer, None):
            found = answer_with_everything(view, given, None)
        else:
            found = make_answer(view, view.token_limit, examine(view, given, tokenizer), Continuation())
        response = found.response
        shown, meta = response.payload or b"", response.meta.replace(tokenizer=tokenizer.name)
        yield Capped(shown, meta, response.notices, decoded_like(text, shown))
        if response.meta.next_offset is None:
            return
        view = view.replace(token_offset=response.meta.next_offset)
        # Reuse the counts and the detected shape for the next page.
        known = given.known
        if index := found.indexes.get("out"):
            known = known.replace(checkpoints=index.checkpoints)
        if view.shape == AUTO and found.shape != AUTO:
            known = known.replace(shape=found.shape, total_count=found.total_count)
        given = given.replace(known=known)


def stored_pages(
    handle: str, limit: int | None, stream: Stream, options: PageOptions
) -> Iterator[Capped[str]]:
    """Yield the windows of a stored output. The store keeps the counts."""
    mode: Mode = "raw"
    while True:
        page = show(handle, limit=limit, stream=stream, mode=mode, **options)
        yield page
        if page.next_offset is None:
            return
        handle, _ = split_offset(handle)
        options = {**options, "offset": page.next_offset}
        # The offset counts in the mode of this page, which a session may have chosen.
        mode = page.meta.mode or "raw"


def encoded(text: str | bytes) -> bytes:
    """Return the bytes of a text, as a command would have written them."""
    if isinstance(text, str):
        # A lone surrogate is not valid UTF-8, but must not be an error.
        return text.encode("utf-8", "surrogatepass")
    if isinstance(text, bytes | bytearray | memoryview):
        return bytes(text)
    raise TypeError(f"text must be str or bytes, not {type(text).__name__}")


def decoded_like(text: AnyStr, data: bytes) -> AnyStr:
    """Return `data` as str if `text` is a str, else as bytes."""
    if not isinstance(text, str):
        return data
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        # The cut went through an encoded lone surrogate.
        return data.decode("utf-8", "replace")
