"""`cap`, `count`, `run` and `show`: a call of the command line as a function, through the same pipeline."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, AnyStr

from tokcap import pipeline
from tokcap.api.keywords import request_of, show_request_of, words_of
from tokcap.api.results import Capped, Result
from tokcap.api.surroundings import Surroundings
from tokcap.core.spool import in_memory
from tokcap.environment import STDERR, STDOUT
from tokcap.errors import TokenizerFailed, TokenizerUnavailable
from tokcap.source.given import GivenBytes
from tokcap.steps.opening import open_source
from tokcap.tokens import Index, open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Unpack

    from tokcap.api.keywords import CapOptions, RunOptions, ShowOptions
    from tokcap.core.payload import Source
    from tokcap.core.request import Request
    from tokcap.environment import Environment


def cap(text: AnyStr, limit: int | None, **options: Unpack[CapOptions]) -> Capped[AnyStr]:
    r"""At most `limit` tokens of a text, the mark included; bytes in, bytes out.

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
    request = request_of((), {"spill": "never", "account": False, **options, "limit": limit})
    with Surroundings() as world:
        response = pipeline.run(request, world.env, lambda _request, _env: GivenBytes(data)).response
        shown = bytes(world.written[STDOUT])
    return Capped(shown, response.meta, response.notices, as_given(text, shown))


def count(text: str | bytes, tokenizer: str = "cl100k_base") -> int:
    """The tokens of a text, exactly.

    >>> from tokcap import count
    >>> count("Language models pay by the token."), count(b"\\xff", tokenizer="approx")
    (7, 1)
    """
    try:
        return Index(in_memory(encoded(text)), open_tokenizer(tokenizer)).total_tokens
    except TokenizerFailed as error:
        raise TokenizerUnavailable(f"{error}; nothing was counted") from None


def run(
    argv: Sequence[str | os.PathLike[str]],
    *,
    limit: int | None = None,
    input: str | bytes | None = None,  # noqa: A002  # as `subprocess` calls it
    stdin: int | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    **options: Unpack[RunOptions],
) -> Result:
    r"""Run a command and return no more than `limit` tokens of its output, with its own exit status.

    >>> from tokcap import run
    >>> result = run(["seq", "1", "1000"], limit=60)
    >>> result.stdout.splitlines()[-1]
    '[TRUNCATED] tokens 0-28 of 2001; next: tokcap show d96682055765 --token-offset 28'
    >>> result.status, result.truncated, result.next_offset, result.handle
    (0, True, 28, 'd96682055765')

    A command that fails is a result; one that cannot be started, a bad argument and an exhausted budget are
    exceptions, all of them a `TokcapError`. The options are those of the command line (see `RunOptions`):
    what is withheld is stored, unless `spill="never"`.

    The command reads `input`, or from the descriptor `stdin`, or nothing. It may be called in any thread. Of
    the caller's own world nothing is changed or written to, except by `stderr="pass"`. `KeyboardInterrupt`,
    like any exception, ends the command before it goes on.
    """
    world = world_of(input, stdin, cwd, env)
    return perform(argv, {**options, "limit": limit}, world, open_source)


def world_of(
    given: str | bytes | None,
    stdin: int | None,
    directory: str | os.PathLike[str] | None,
    variables: Mapping[str, str] | None,
) -> Surroundings:
    """What a command finds when it is started."""
    if given is not None and stdin is not None:
        raise TypeError("give input or stdin, not both")
    return Surroundings(
        variables=variables,
        directory=None if directory is None else os.fspath(directory),
        stdin=stdin,
        given=None if given is None else encoded(given),
    )


def perform(
    argv: Sequence[str | os.PathLike[str]],
    options: Mapping[str, object],
    world: Surroundings,
    open_source: Callable[[Request, Environment], Source],
) -> Result:
    """`run`, with the command started by whoever wants to stop it."""
    request = request_of(words_of(argv), options)
    with world:
        done = pipeline.run(request, world.env, open_source)
    response = done.response
    return Result(
        bytes(world.written[STDOUT]),
        response.meta,
        response.notices,
        bytes(world.written[STDERR]),
        done.status,
        response.failure,
    )


def show(handle: str, *, limit: int | None = None, **options: Unpack[ShowOptions]) -> Capped[str]:
    r"""A window of a stored output, one of its values (`pointer`), or the lines that match (`grep`).

    >>> from tokcap import run, show
    >>> result = run(["seq", "1", "1000"], limit=60)
    >>> show(result.handle, offset=result.next_offset, limit=4, sentinel="").text
    '15\n16\n'
    >>> show(result.handle, grep="^1.*00$", limit=20, sentinel="").text
    '100:198:100\n1000:1998:1000\n'

    Without a limit it is that of the run. `NotFound` where there is no such output, value or line.
    """
    request = show_request_of(handle, {**options, "limit": limit})
    with Surroundings() as world:
        response = pipeline.show(request, world.env).response
        shown = bytes(world.written[STDOUT])
    return Capped(shown, response.meta, response.notices, shown.decode("utf-8", "replace"))


def encoded(text: str | bytes) -> bytes:
    """A text as the bytes that a command would have written."""
    if isinstance(text, str):
        # A lone surrogate is no text, and must not be an error either.
        return text.encode("utf-8", "surrogatepass")
    if isinstance(text, bytes | bytearray | memoryview):
        return bytes(text)
    raise TypeError(f"text is str or bytes, not {type(text).__name__}")


def as_given(text: AnyStr, data: bytes) -> AnyStr:
    """Bytes in the type of the text that they were made from."""
    if not isinstance(text, str):
        return data
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        # A lone surrogate was cut in two.
        return data.decode("utf-8", "replace")
