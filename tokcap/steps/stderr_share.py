"""stderr next to the answer: one limit covers both streams, and stderr gets a share of it."""

from __future__ import annotations

from tokcap.core.cut import STDERR_SHARE, Ask
from tokcap.core.notice import Notice
from tokcap.forms import FORMS
from tokcap.keep import KEEPS
from tokcap.keep.ends import ENDS_PREFERRING_LAST
from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes import FALLBACK, MODES, SHAPES
from tokcap.steps.answer import ShownStderr
from tokcap.tokens import Index, count_bytes

if TYPE_CHECKING:
    from tokcap.core.cut import Part
    from tokcap.core.payload import Payload
    from tokcap.core.request import Stream, View
    from tokcap.steps.continuation import Continuation
    from tokcap.steps.examination import Examined


def stderr_limit(limit: int, out_tokens: int, err_tokens: int) -> int:
    """Return how many of `limit` tokens stderr may use: what stdout leaves, but at least a quarter.

    The quarter is rounded up, so that a small limit does not hide the error; one token stays for stdout.
    """
    quarter = min(-(-limit // STDERR_SHARE), limit - 1)
    return min(err_tokens, max(quarter, limit - out_tokens, 0))


def stdout_tokens(view: View, limit: int, shown: Examined) -> int:
    """Return how many tokens stdout could use; counted no further than the limit requires."""
    form = FORMS[view.output]
    tokens = max(shown.index.reach(view.token_offset + limit + 1) - view.token_offset, 0)
    if tokens <= limit and form.has_envelope:
        # In JSON, escapes and brackets cost extra tokens, even if the payload is empty.
        everything = Ask(None, view.token_offset, KEEPS[view.keep], view.align, view.sentinel)
        rest = shown.shape.cut(shown.payload, shown.index, everything, lambda _parts: 0).parts
        tokens = count_bytes(form.compose(rest), shown.tokenizer)
    return tokens


def cut_stderr(
    err: Payload, view: View, limit: int, out_tokens: int, examined: Examined, continuation: Continuation
) -> ShownStderr:
    """Show all of stderr if possible, else both ends within its share."""
    if MODES[view.mode].describes:
        # The summary covers stderr too.
        return ShownStderr(withheld=True)
    tokenizer = examined.tokenizer
    index = Index(err, tokenizer)
    share = stderr_limit(limit, out_tokens, index.total_tokens) if limit > 0 else 0
    indexes: dict[Stream, Index] = {"err": index}
    if not share:
        command = continuation.err.replace("{}", "0", 1)
        message = f"stderr ({index.total_tokens} tokens) does not fit into a limit of {limit}; see {command}"
        notice = Notice("STDERR_HIDDEN", message, of_the_cut=True)
        return ShownStderr(b"", (notice,), withheld=True, indexes=indexes)
    text = FORMS["text"]
    # The last lines of stderr usually give the reason.
    ask = Ask(
        share,
        0,
        ENDS_PREFERRING_LAST,
        "record",
        view.sentinel,
        continuation.err,
        label="stderr ",
        remark=continuation.remark("err"),
        passed=examined.given.err_passed,
    )

    def cost(parts: tuple[Part, ...]) -> int:
        return count_bytes(text.compose(parts), tokenizer)

    shown = SHAPES[FALLBACK].cut(err, index, ask, cost)
    notices = (Notice("STDERR_TRUNCATED", shown.hint, of_the_cut=True),) if shown.gap else ()
    return ShownStderr(text.compose(shown.parts), notices, withheld=shown.gap is not None, indexes=indexes)
