"""`pages`: a text or a stored output, window after window, each counted from where the last one ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, AnyStr, overload

from tokcap.api.calls import as_given, encoded, show
from tokcap.api.keywords import request_of
from tokcap.api.results import Capped
from tokcap.core.spool import in_memory
from tokcap.errors import UsageError
from tokcap.steps.answer import make_answer
from tokcap.steps.continuation import NOT_STORED
from tokcap.steps.examination import examine
from tokcap.steps.inputs import StoredInput
from tokcap.tokens import open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Unpack

    from tokcap.api.keywords import PageOptions
    from tokcap.core.request import Stream


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
    r"""All windows of a text, or of a stored output (`handle`), of at most `limit` tokens each.

    >>> from tokcap import pages
    >>> [page.text for page in pages("one\ntwo\nthree\nfour\n", 4)]
    ['one\ntwo\n', 'three\nfour\n']

    Joined they are the original: they carry no mark, and are cut as text. With `shape="auto"` a JSON document
    comes in documents, which hold the same leaves; with a `sentinel` every page but the last one is marked.
    """
    chosen: PageOptions = {"sentinel": "", "shape": "text", **options}
    if (text is None) == (handle is None):
        raise TypeError("give a text or a handle")
    found = text_pages(text, limit, chosen) if handle is None else stored_pages(handle, limit, stream, chosen)
    return going_on(found)


def going_on(found: Iterator[Capped[Any]]) -> Iterator[Capped[Any]]:
    """The pages, as long as each begins behind the one before it."""
    last = -1
    for page in found:
        if page.next_offset is not None and page.next_offset <= last:
            raise UsageError(f"limit: {page.meta.token_limit} tokens admit nothing at {last}; ask for more")
        yield page
        last = -1 if page.next_offset is None else page.next_offset


def text_pages(text: AnyStr, limit: int | None, options: PageOptions) -> Iterator[Capped[AnyStr]]:
    view = request_of((), {**options, "limit": limit, "spill": "never", "account": False})
    if view.token_limit is None:
        raise UsageError("limit: a page has to have one")
    tokenizer = open_tokenizer(view.tokenizer)
    given = StoredInput(in_memory(encoded(text)))
    while True:
        found = make_answer(view, examine(view, given, tokenizer), NOT_STORED)
        response = found.response
        shown = response.payload or b""
        yield Capped(
            shown, response.meta.but(tokenizer=tokenizer.name), response.notices, as_given(text, shown)
        )
        if response.meta.next_offset is None:
            return
        view = view.but(token_offset=response.meta.next_offset)
        # What was found out is not found out again.
        known = given.known
        if index := found.indexes.get("out"):
            known = known.but(checkpoints=index.checkpoints)
        if view.shape == "auto" and found.shape != "auto":
            known = known.but(shape=found.shape, total_count=found.total_count)
        given = given.but(known=known)


def stored_pages(
    handle: str, limit: int | None, stream: Stream, options: PageOptions
) -> Iterator[Capped[str]]:
    while True:
        page = show(handle, limit=limit, stream=stream, **options)
        yield page
        if page.next_offset is None:
            return
        options = {**options, "offset": page.next_offset}
