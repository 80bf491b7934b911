"""How the rest is fetched: the words that marks and warnings have for it."""

from __future__ import annotations

from tokcap.cli.options import BY_KEY
from tokcap.core.notice import Notice
from tokcap.core.request import ShowRequest
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.core.request import Stream, View
    from tokcap.forms.envelope import Meta


def way_to(handle: str, view: View, stream: Stream = "out") -> str:
    """The command that shows the rest of a stored output, with all that its token positions depend on."""
    way = f"tokcap show {handle} --token-offset {{}}"
    wanted = view.but(stream=stream) if isinstance(view, ShowRequest) and stream == "err" else view
    values = {**wanted.__dict__, "stream": wanted.stream if isinstance(wanted, ShowRequest) else stream}
    for key in ("stream", "tokenizer", "shape", "fields", "mode", "pointer", "grep", "context"):
        option = BY_KEY[key]
        value = values.get(key, option.default)
        if value != option.default:
            from tokcap.system.quoting import quoted

            way += f" {option.flag} {quoted(str(value))}"
    return way


def remark_on(stored_bytes: int) -> str:
    return f"only the first {stored_bytes} bytes are stored"


def readable(word: str) -> str:
    """A path or an argument as JSON and people can read it; what is no UTF-8 in it is replaced."""
    return word.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def capped_notice(stored: int, lost: int, meta: Meta | None, label: str = "") -> tuple[Notice, ...]:
    """That the store has not all of it. Where there is a mark in the text, it says so too."""
    if not lost:
        return ()
    marked = meta is not None and meta.shape == "text" and bool(meta.truncated)
    message = f"{label}only the first {stored} of {stored + lost} bytes were stored (--max-bytes)"
    return (Notice("SPILL_TRUNCATED", message, of_the_cut=marked),)
