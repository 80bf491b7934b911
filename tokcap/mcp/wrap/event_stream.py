"""Read a stream of server-sent events, as HTTP servers answer with it."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Event(Record):
    """One event. `data` is empty if it only has an id or a time to wait."""

    data: bytes = b""
    # Where to continue after an interruption; None if the event does not say.
    identifier: str | None = None
    # How long to wait before that.
    retry_seconds: float | None = None


def events_in(read_line: Callable[[], bytes]) -> Iterator[Event]:
    """Yield events until the stream ends. An event that is interrupted is not complete, and is dropped."""
    data: list[bytes] = []
    event = Event()
    while line := read_line():
        line = line.rstrip(b"\r\n")
        if not line:
            if data or event != Event():
                yield event.but(data=b"\n".join(data))
            data, event = [], Event()
            continue
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            data.append(value)
        elif name == b"id" and b"\0" not in value:
            event = event.but(identifier=value.decode("utf-8", "replace"))
        elif name == b"retry" and value.isdigit():
            event = event.but(retry_seconds=int(value) / 1000)
