"""Where each stream of a call goes: kept, passed on, or both; and what changes it on the way there."""

from __future__ import annotations

from tokcap.core.fit import STDERR_SHARE
from tokcap.core.notice import Notice
from tokcap.errors import TokenizerFailed
from tokcap.keep import KEEPS
from tokcap.lean.record import TYPE_CHECKING
from tokcap.steps.capture import Filtered, Passing, Spool
from tokcap.tokens import Index

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from tokcap.core.payload import Sink, Source
    from tokcap.core.request import Request, Stream
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment
    from tokcap.filters.redact import Redactor
    from tokcap.steps.progress import Curtain
    from tokcap.steps.recording import Keeping

    class Place(Sink, Protocol):
        """Where a stream goes."""

        # Whether everything was passed on as it came, and nothing is left to the answer.
        is_out: bool
        # Bytes that are out already: all of them, or the beginning.
        passed: int

        @property
        def spool(self) -> Spool | None:
            """Where all of it is kept, if it is."""
            ...

        @property
        def tail(self) -> bytes:
            """The end of it, whatever became of the rest."""
            ...

        def close(self) -> None: ...


# What the mark takes at the most, but for its own text and for options that the way to the rest has.
MARK_TOKENS = 64


def open_places(
    request: Request,
    tokenizer: Tokenizer,
    env: Environment,
    curtain: Curtain,
    keeping: Keeping | None,
    *,
    tracked: bool,
) -> tuple[Place, Place]:
    """Keep what may have to be cut or counted; pass on at once what certainly will not be."""
    if passes_everything(request):
        out: Place = Passing(env.write_stdout)
        if keeping and request.spill == "always":
            out = Passing(env.write_stdout, keeping.spool("out", whole=tracked))
        elif tracked:
            out = Passing(env.write_stdout, Spool())
        return out, passed_err(request, curtain, keeping, tracked=tracked)
    # Within a budget even a count has a limit: what comes beside it on stderr must not break it.
    capped = request.token_limit is not None and (tracked or not request.token_count)
    # A window at the beginning of a text needs no more of it than the store keeps.
    beginning = (
        capped
        and KEEPS[request.keep].reads_only_head
        and request.mode == "raw"
        and not (request.fields or request.token_count or request.exact_total)
        and request.shape in ("auto", "text")
    )
    kept = keeping.spool("out", whole=not beginning) if keeping else Spool()
    if not capped:
        return kept, passed_err(request, curtain, keeping, tracked=tracked)
    kept_err = keeping.spool("err", whole=True) if keeping else Spool()
    may_pass = beginning and KEEPS[request.keep].may_pass_live
    if request.output != "text" or not may_pass or request.token_offset:
        return kept, kept_err
    return open_live(request, tokenizer, curtain, kept, kept_err)


def passed_err(request: Request, curtain: Curtain, keeping: Keeping | None, *, tracked: bool) -> Place:
    """stderr beside an answer that does not cap it: passed on, and kept if it is stored or paid for."""
    stored = keeping and (request.spill == "always" or not passes_everything(request))
    if stored and keeping and request.stderr == "separate":
        return Passing(curtain.write_stderr, keeping.spool("err", whole=tracked))
    if tracked and request.stderr == "separate":
        return Passing(curtain.write_stderr, Spool())
    return Passing(curtain.write_stderr)


def passes_everything(request: Request) -> bool:
    """Whether nothing of an output will be left out or changed: then it need not be waited for."""
    changed = request.token_limit or request.token_offset or request.token_count or request.fields
    return not changed and request.mode == "raw" and request.output == "text"


def open_live(
    request: Request, tokenizer: Tokenizer, curtain: Curtain, out: Spool, err: Spool
) -> tuple[Place, Place]:
    """Pass on what is certain to be inside the window while it arrives."""
    from tokcap.shapes.beginning import certainly_text
    from tokcap.steps.live import Live

    assert request.token_limit is not None
    mark = MARK_TOKENS + len(request.sentinel.encode()) + len(request.tokenizer) // 2
    has_err = bool(request.command) and request.stderr == "separate"
    share = -(-request.token_limit // STDERR_SHARE) if has_err else 0
    declared = request.shape == "text"
    room = request.token_limit - share - mark
    return (
        Live(out, curtain.write_stdout, tokenizer, room, (lambda _: True) if declared else certainly_text),
        # stderr that is too long keeps both ends, and what is passed on has to be in the first one.
        Live(err, curtain.write_stderr, tokenizer, share // 2 - mark, lambda _: True),
    )


def left_to_answer(place: Place) -> Spool | None:
    """Where the answer finds what was kept for it; None if it is out already."""
    return None if place.is_out else place.spool


def tokens_passed(tokenizer: Tokenizer, *places: Place) -> int:
    """What was passed on costs, as far as it was kept to be counted."""
    kept = [place.spool for place in places if place.is_out and place.spool]
    try:
        return sum(Index(spool, tokenizer).total_tokens for spool in kept)
    except TokenizerFailed:
        # Bytes are never fewer than tokens.
        return sum(spool.size for spool in kept)


def open_masks(request: Request) -> Mapping[Stream, Redactor]:
    """For each stream what masks its secrets, if they are to be masked."""
    if not request.redact:
        return {}
    from tokcap.filters.redact import Redactor

    return {"out": Redactor(), "err": Redactor()}


def filtered(sink: Sink, stream: Stream, request: Request, masks: Mapping[Stream, Redactor]) -> Sink:
    """The way to a place: cleaned first, so that no escape divides a secret."""
    if stream in masks:
        sink = Filtered(masks[stream], sink)
    if not request.clean:
        return sink
    from tokcap.filters.clean import Cleaner

    return Filtered(Cleaner(), sink)


def until_full(sink: Sink, request: Request, tokenizer: Tokenizer, source: Source) -> Sink:
    """With `--kill-on-limit`: the command ends when there is more than the window can show."""
    shows_the_beginning = (
        KEEPS[request.keep].may_stop_early and request.mode == "raw" and not request.token_count
    )
    if not request.kill_on_limit or request.token_limit is None or not shows_the_beginning:
        return sink
    from tokcap.steps.live import UntilFull

    return UntilFull(sink, tokenizer, request.token_offset + request.token_limit, source.limit_reached)


def notices_of(masks: Mapping[Stream, Redactor]) -> tuple[Notice, ...]:
    """What was masked, as a warning."""
    if not masks:
        return ()
    from tokcap.filters.redact import told

    counts: dict[str, int] = {}
    for mask in masks.values():
        for kind, number in mask.masked.items():
            counts[kind] = counts.get(kind, 0) + number
    return (Notice("SECRETS_MASKED", told(counts)),) if counts else ()
