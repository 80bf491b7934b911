"""`pages` returns a text or a stored output as a sequence of windows.

Each window continues the count of the one before, so that paging a long text counts it once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, AnyStr, overload

from tokcap.api.calls import decoded_like, encoded, show
from tokcap.api.keywords import build_run_request
from tokcap.api.results import Capped
from tokcap.core.request import AUTO
from tokcap.core.spool import in_memory
from tokcap.errors import UsageError
from tokcap.steps.answer import answer_with_everything, certainly_fits, make_answer
from tokcap.steps.continuation import NOT_STORED
from tokcap.steps.examination import examine
from tokcap.steps.inputs import StoredInput
from tokcap.store.handles import split_offset
from tokcap.tokens import open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Unpack

    from tokcap.api.keywords import PageOptions
    from tokcap.core.request import Mode, Stream


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
    """Yield the pages. Refuse a limit so small that a page does not advance, which would never end."""
    last_offset = -1
    for page in found:
        if page.next_offset is not None and page.next_offset <= last_offset:
            raise UsageError(
                f"limit: {page.meta.token_limit} is too small to show anything at offset {last_offset}; "
                "use a larger limit"
            )
        yield page
        last_offset = -1 if page.next_offset is None else page.next_offset


def text_pages(text: AnyStr, limit: int | None, options: PageOptions) -> Iterator[Capped[AnyStr]]:
    """Yield the windows of a text."""
    view = build_run_request((), {**options, "limit": limit, "spill": "never", "account": False})
    if view.token_limit is None:
        raise UsageError("limit: pages need a limit")
    tokenizer = open_tokenizer(view.tokenizer)
    given = StoredInput(in_memory(encoded(text)))
    while True:
        if certainly_fits(view, given, tokenizer):
            found = answer_with_everything(given)
        else:
            found = make_answer(view, examine(view, given, tokenizer), NOT_STORED)
        response = found.response
        shown, meta = response.payload or b"", response.meta.but(tokenizer=tokenizer.name)
        yield Capped(shown, meta, response.notices, decoded_like(text, shown))
        if response.meta.next_offset is None:
            return
        view = view.but(token_offset=response.meta.next_offset)
        # Reuse the counts and the detected shape for the next page.
        known = given.known
        if index := found.indexes.get("out"):
            known = known.but(checkpoints=index.checkpoints)
        if view.shape == AUTO and found.shape != AUTO:
            known = known.but(shape=found.shape, total_count=found.total_count)
        given = given.but(known=known)


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
