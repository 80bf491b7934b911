"""An output in the local store that other hosts can read too, open for reading on this host.

What is counted here is added to the entry in the bucket when that saves others a lot of work. So an ordinary
page of an output on this host makes no request.
"""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokcap.core.request import Stream
    from tokcap.store.base import StoredOutput
    from tokcap.store.record import StoredRecord

# The least that an index must have grown: this is the index of 4 MiB.
NEWS_BYTES = 4096


class SharedCopy:
    """Does what the local output does. `share` gets the handle and the files that are worth a request."""

    def __init__(self, output: StoredOutput, share: Callable[[str, Mapping[str, bytes]], None]) -> None:
        self._output = output
        self._share = share
        self._news: dict[str, bytes] = {}
        self.handle = output.handle
        self.record = output.record
        self.damage = output.damage
        self.streams = output.streams

    def local_path(self, stream: Stream) -> str | None:
        return self._output.local_path(stream)

    def fetch_path(self, stream: Stream) -> str | None:
        return self._output.fetch_path(stream)

    def is_whole(self, stream: Stream) -> bool:
        return self._output.is_whole(stream)

    def read_file(self, name: str) -> bytes | None:
        return self._output.read_file(name)

    def write_file(self, name: str, data: bytes) -> None:
        known = len(self._output.read_file(name) or b"")
        self._output.write_file(name, data)
        if len(data) >= known + max(NEWS_BYTES, known // 2):
            self._news[name] = data

    def write_record(self, record: StoredRecord) -> None:
        self._output.write_record(record)

    def note_damage(self, name: str, consequence: str) -> None:
        self._output.note_damage(name, consequence)

    def touch(self) -> None:
        self._output.touch()

    def close(self) -> None:
        self._output.close()
        if self._news:
            self._share(self.handle, self._news)
