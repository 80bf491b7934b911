"""stderr beside the answer: one limit covers both streams, and this is what it leaves for the second."""

from __future__ import annotations

from tokcap.core.cut import Ask
from tokcap.core.fit import stderr_limit
from tokcap.core.notice import Notice
from tokcap.forms.render import compose
from tokcap.keep import KEEPS
from tokcap.keep.ends import RATHER_THE_END
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes import FALLBACK, MODES, SHAPES
from tokcap.tokens import Index, count_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokcap.core.cut import Part
    from tokcap.core.request import Stream, View
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.steps.answer import Streams, Ways
    from tokcap.steps.shaping import Shaped


class Stderr(Record):
    """What is shown of stderr."""

    shown: bytes = b""
    notices: tuple[Notice, ...] = ()
    withheld: bool = False
    indexes: Mapping[Stream, Index] = {}


def out_tokens(view: View, out: Index, tokenizer: Tokenizer, shape: Shaped) -> int:
    """How many tokens stdout could use, as far as it matters beside the limit."""
    limit = view.token_limit
    if limit is None:
        return 0
    tokens = max(out.reach(view.token_offset + limit + 1) - view.token_offset, 0)
    if tokens <= limit and view.output != "text":
        # In JSON it costs more than its tokens, even if there is nothing of it.
        everything = Ask(None, view.token_offset, KEEPS[view.keep], view.align, view.sentinel)
        rest = shape.shape.cut(shape.payload, out, everything, lambda _parts: 0).parts
        tokens = count_bytes(compose(rest, view.output), tokenizer)
    return tokens


def cut_stderr(
    view: View, streams: Streams, out_tokens: int, tokenizer: Tokenizer, find_ways: Callable[[], Ways]
) -> Stderr:
    """All of stderr if possible, else both ends within its share."""
    limit = view.token_limit
    if limit is None or streams.err is None or not streams.err.size:
        return Stderr()
    if MODES[view.mode].describes:
        # What there is to say of it is part of the answer.
        return Stderr(withheld=True)
    ways = find_ways()
    index = Index(streams.err, tokenizer)
    share = stderr_limit(limit, out_tokens, index.total_tokens) if limit > 0 else 0
    known: dict[Stream, Index] = {"err": index}
    if not share:
        way = ways.err.replace("{}", "0", 1)
        message = f"stderr ({index.total_tokens} tokens) has no room in a limit of {limit}; see {way}"
        return Stderr(b"", (Notice("STDERR_HIDDEN", message, of_the_cut=True),), withheld=True, indexes=known)
    # The last words of stderr are mostly the reason.
    ask = Ask(
        share,
        0,
        RATHER_THE_END,
        "record",
        view.sentinel,
        ways.err,
        label="stderr ",
        remark=ways.err_remark,
        passed=streams.err_passed,
    )

    def cost(parts: tuple[Part, ...]) -> int:
        return count_bytes(compose(parts, "text"), tokenizer)

    shown = SHAPES[FALLBACK].cut(streams.err, index, ask, cost)
    notices = (Notice("STDERR_TRUNCATED", shown.hint, of_the_cut=True),) if shown.gap else ()
    return Stderr(compose(shown.parts, "text"), notices, withheld=shown.gap is not None, indexes=known)
