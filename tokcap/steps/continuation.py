"""How a reader gets the rest: the commands and remarks that marks, warnings and `meta` name."""

from __future__ import annotations

from tokcap.core.notice import Notice
from tokcap.core.request import ShowRequest
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes import SHAPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokcap.core.request import Stream, View
    from tokcap.core.response import Meta
    from tokcap.store.base import Ticket

# Options that change where the tokens of an output are. The next page needs the same ones.
POSITION_OPTIONS = ("stream", "tokenizer", "shape", "fields", "mode", "pointer", "grep", "context")


class Continuation(Record):
    """Commands that fetch the rest of each stream (`{}` is the next offset), and what the store has."""

    out: str = "--token-offset {}"
    err: str = "--stderr pass"
    handle: str = ""
    spill_path: str | None = None
    # Bytes of each stream in the store, and bytes that followed and were not stored.
    stored_bytes: Mapping[Stream, int] = {}
    lost_bytes: Mapping[Stream, int] = {}
    # Whether the handle is named even if nothing is withheld.
    is_always_named: bool = False

    def remark(self, stream: Stream) -> str:
        """Return what the mark says if the store does not have all of a stream."""
        if not self.lost_bytes.get(stream):
            return ""
        return f"only the first {self.stored_bytes[stream]} bytes are stored"

    def notices(self, meta: Meta | None) -> tuple[Notice, ...]:
        """Warn if the store does not have everything."""
        shape = SHAPES[meta.shape] if meta and meta.shape and meta.truncated else None
        # A mark with a note says it too.
        marked = shape is not None and shape.mark_has_note
        return tuple(
            Notice(
                "SPILL_TRUNCATED",
                f"{label}only the first {self.stored_bytes[stream]} of {self.stored_bytes[stream] + lost}"
                " bytes were stored (--max-bytes)",
                of_the_cut=marked,
            )
            for stream, label in LABELS.items()
            if (lost := self.lost_bytes.get(stream))
        )

    def as_meta(self) -> dict[str, object]:
        """Return the fields of `meta` that name the stored output."""
        return {
            "handle": self.handle,
            "spill_path": self.spill_path and readable(self.spill_path),
            "spill_truncated": True if any(self.lost_bytes.values()) else None,
        }


LABELS: Mapping[Stream, str] = {"out": "", "err": "stderr: "}

# Nothing is stored: the rest is fetched by the same call with another offset.
NOT_STORED = Continuation()


def continuation_of(ticket: Ticket, view: View, *, always: bool) -> Continuation:
    """Return the way to the rest of an output that is stored, or about to be stored."""
    return Continuation(
        out=next_command(ticket.handle, view),
        err=next_command(ticket.handle, view, "err"),
        handle=ticket.handle,
        spill_path=ticket.spill_path,
        stored_bytes=ticket.stored_bytes,
        lost_bytes=ticket.lost_bytes,
        is_always_named=always,
    )


def next_command(handle: str, view: View, stream: Stream = "out") -> str:
    """Return the command that shows the rest, with every option that token positions depend on."""
    command = f"tokcap show {handle} --token-offset {{}}"
    wanted = {**ShowRequest.defaults(), **view.__dict__}
    if stream != "out":
        wanted["stream"] = stream
    for key in POSITION_OPTIONS:
        if wanted[key] != ShowRequest.defaults()[key]:
            from tokcap.system.quoting import quoted

            command += f" --{key} {quoted(str(wanted[key]))}"
    return command


def readable(word: str) -> str:
    """Return a path or an argument as UTF-8 text; bytes that are not UTF-8 are replaced."""
    return word.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
