"""How a reader gets the rest: the commands and remarks that marks, warnings and `meta` name."""

from __future__ import annotations

from tokcap.core.request import ShowRequest, View, flag_of
from tokcap.core.response import Notice
from tokcap.environment import ShellReader
from tokcap.shapes import SHAPES
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.store.handles import at_offset

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokcap.core.request import Stream
    from tokcap.core.response import Meta
    from tokcap.environment import Reader
    from tokcap.store.base import Ticket

# Options that change where the tokens of an output are. The next page needs the same ones.
POSITION_OPTIONS = ("stream", "tokenizer", "shape", "fields", "mode", "pointer", "grep", "context")
# Switches that do so for a stored output. A run is stored as its filters have left it.
FILTER_SWITCHES = ("clean",)
# Options of a call that its next page needs too, though they move no token.
CALL_OPTIONS = ("output", "align", "sentinel", "session", "turn", "context_window")
OFFSET = "{}"


class Continuation(Record):
    """Commands that fetch the rest of each stream (`{}` is the next offset), and what the store has.

    If nothing is stored, the same call fetches the rest with another offset.
    """

    out: str = "--token-offset {}"
    err: str = "--stderr pass"
    # The command that shows one value; `{}` is its pointer. Empty if there is none.
    pointer: str = ""
    # The command that shows the stored bytes as text. Empty if there is none.
    text: str = ""
    # The words of the first command after `tokcap`, and the options of the call that asked; `{}` as above.
    arguments: tuple[str, ...] = ("--token-offset", OFFSET)
    handle: str = ""
    spill_path: str | None = None
    # Bytes of each stream in the store, and bytes that followed and were not stored.
    stored_bytes: Mapping[Stream, int] = {}
    lost_bytes: Mapping[Stream, int] = {}
    # When it was stored, in seconds since 1970; None if the caller knows which output it is.
    stored_at: int | None = None
    # Whether the handle is named even if nothing is withheld.
    is_always_named: bool = False
    # How the way is worded.
    reader: Reader = ShellReader()

    @property
    def gaps_option(self) -> str:
        """The option of `show` that lists the gaps of this answer, for a reader who can give it."""
        can_list = self.handle and isinstance(self.reader, ShellReader)
        return "--gaps" if can_list else ""

    def arguments_at(self, offset: int) -> tuple[str, ...]:
        """Return the words after `tokcap` that show the window at an offset."""
        # Options may have braces too.
        place = next(number for number, word in enumerate(self.arguments) if word.endswith(OFFSET))
        word = self.arguments[place].removesuffix(OFFSET) + str(offset)
        return (*self.arguments[:place], word, *self.arguments[place + 1 :])

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
            "stored_at": self.stored_at,
            "spill_path": self.spill_path and readable(self.spill_path),
            "spill_truncated": True if any(self.lost_bytes.values()) else None,
        }


LABELS: Mapping[Stream, str] = {"out": "", "err": "stderr: "}


def continuation_of(
    ticket: Ticket, view: View, reader: Reader, *, always: bool, token_limit: int | None = None
) -> Continuation:
    """Return the way to the rest of an output that is stored, or about to be stored.

    `token_limit` is the limit of the next page, if it is not that of the run.
    """
    handle = ticket.handle
    # A search reads all of the output wherever a handle points, so its pages have an offset of their own.
    is_search = bool(getattr(view, "grep", ""))
    place = handle if is_search else at_offset(handle, OFFSET)
    offset = [("token-offset", OFFSET)] if is_search else []
    # Then the view has other pointers.
    differs = view.fields or view.mode != View.mode or getattr(view, "pointer", "")
    return Continuation(
        arguments=(
            *("show", place, *(("--token-offset", OFFSET) if is_search else ())),
            *option_words(view, token_limit),
        ),
        out=reader.call(place, [*offset, *position_options(view, "out")]),
        err=reader.call(place, [*offset, *position_options(view, "err")]),
        pointer="" if differs else reader.call(handle, [("pointer", "{}")]),
        text=reader.call(handle, [("shape", "text")]),
        handle=handle,
        spill_path=ticket.spill_path,
        stored_bytes=ticket.stored_bytes,
        lost_bytes=ticket.lost_bytes,
        is_always_named=always,
        reader=reader,
    )


def not_stored(view: View, reader: Reader) -> Continuation:
    """Return the way to the rest of an output that is not stored: the same call with another offset."""
    arguments = ("--token-offset", OFFSET, *option_words(view, view.token_limit))
    if not getattr(view, "as_shell", False):
        return Continuation(arguments=arguments)
    # Who calls a shell does not call tokcap, and gets all of the command.
    again = f"{reader.name} --token-offset {OFFSET} -c 'COMMAND'"
    return Continuation(arguments=arguments, out=again, err=again)


def option_words(view: View, token_limit: int | None) -> tuple[str, ...]:
    """Return the options of the next page: the view that its offset counts in, and how it is written."""
    words: list[str] = []
    if token_limit is not None:
        words += ("--token-limit", str(token_limit))
    defaults, values = view.defaults(), view.__dict__
    for key in (*POSITION_OPTIONS, *CALL_OPTIONS):
        if key in values and values[key] != defaults[key]:
            words += (flag_of(key), readable(str(values[key])))
    if isinstance(view, ShowRequest):
        words += [flag_of(key) for key in FILTER_SWITCHES if values[key]]
    return tuple(words)


def position_options(view: View, stream: Stream) -> Iterator[tuple[str, str]]:
    """Yield the options of `show` that token positions depend on, and that differ from their defaults."""
    defaults = ShowRequest.defaults()
    wanted = {**defaults, **view.__dict__}
    if stream != "out":
        wanted["stream"] = stream
    for key in POSITION_OPTIONS:
        if wanted[key] != defaults[key]:
            yield key, str(wanted[key])
    if isinstance(view, ShowRequest):
        yield from ((key, "") for key in FILTER_SWITCHES if view.__dict__[key])


def readable(word: str) -> str:
    """Return a path or an argument as UTF-8 text; bytes that are not UTF-8 are replaced."""
    return word.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
