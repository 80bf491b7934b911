"""stderr next to the answer: one limit covers both streams, and stderr gets a share of it."""

from __future__ import annotations

from tokcap.core.cut import Ask
from tokcap.core.fit import stderr_limit
from tokcap.core.notice import Notice
from tokcap.forms import FORMS
from tokcap.keep import KEEPS
from tokcap.keep.ends import RATHER_THE_END
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes import FALLBACK, MODES, SHAPES
from tokcap.tokens import Index, count_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokcap.core.cut import Part
    from tokcap.core.request import Stream, View
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.steps.continuation import Continuation
    from tokcap.steps.examination import Examined
    from tokcap.steps.inputs import Input


class Stderr(Record):
    """What is shown of stderr."""

    shown: bytes = b""
    notices: tuple[Notice, ...] = ()
    withheld: bool = False
    indexes: Mapping[Stream, Index] = {}


def stdout_tokens(view: View, shown: Examined) -> int:
    """Return how many tokens stdout could use; counted no further than the limit requires."""
    limit, form = view.token_limit, FORMS[view.output]
    if limit is None or shown.given.err is None or not shown.given.err.size:
        return 0
    tokens = max(shown.index.reach(view.token_offset + limit + 1) - view.token_offset, 0)
    if tokens <= limit and form.has_envelope:
        # In JSON, escapes and brackets cost extra tokens, even if the payload is empty.
        everything = Ask(None, view.token_offset, KEEPS[view.keep], view.align, view.sentinel)
        rest = shown.shape.cut(shown.payload, shown.index, everything, lambda _parts: 0).parts
        tokens = count_bytes(form.compose(rest), shown.tokenizer)
    return tokens


def cut_stderr(
    view: View, given: Input, out_tokens: int, tokenizer: Tokenizer, continuation: Continuation
) -> Stderr:
    """Show all of stderr if possible, else both ends within its share."""
    limit = view.token_limit
    if limit is None or given.err is None or not given.err.size:
        return Stderr()
    if MODES[view.mode].describes:
        # The summary covers stderr too.
        return Stderr(withheld=True)
    index = Index(given.err, tokenizer)
    share = stderr_limit(limit, out_tokens, index.total_tokens) if limit > 0 else 0
    indexes: dict[Stream, Index] = {"err": index}
    if not share:
        command = continuation.err.replace("{}", "0", 1)
        message = f"stderr ({index.total_tokens} tokens) does not fit into a limit of {limit}; see {command}"
        return Stderr(
            b"", (Notice("STDERR_HIDDEN", message, of_the_cut=True),), withheld=True, indexes=indexes
        )
    text = FORMS["text"]
    # The last lines of stderr usually give the reason.
    ask = Ask(
        share,
        0,
        RATHER_THE_END,
        "record",
        view.sentinel,
        continuation.err,
        label="stderr ",
        remark=continuation.remark("err"),
        passed=given.err_passed,
    )

    def cost(parts: tuple[Part, ...]) -> int:
        return count_bytes(text.compose(parts), tokenizer)

    shown = SHAPES[FALLBACK].cut(given.err, index, ask, cost)
    notices = (Notice("STDERR_TRUNCATED", shown.hint, of_the_cut=True),) if shown.gap else ()
    return Stderr(text.compose(shown.parts), notices, withheld=shown.gap is not None, indexes=indexes)
