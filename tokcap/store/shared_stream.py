"""Read a stream of a shared output: only the ranges that are wanted, or all of it into the local store."""

from __future__ import annotations

from tokcap.errors import StoreError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.store.checksums import BLOCK_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable
    from mmap import mmap

    from tokcap.store.bucket import Bucket
    from tokcap.store.checked_stream import StoredBytes

# Read at least this far: the next range is usually wanted too. If it is, read further the next time.
AHEAD_BYTES = 2 * BLOCK_BYTES
MOST_AHEAD_BYTES = 1 << 20
# Whoever reads more than this reads everything, or soon comes back.
MOST_RANGES_BYTES = 4 << 20


class SharedStream:
    """The bytes of one stream in a bucket.

    fetch: fetches the whole output into the cache, and returns this stream of it.
    """

    def __init__(self, bucket: Bucket, key: str, size: int, fetch: Callable[[], StoredBytes]) -> None:
        self._bucket = bucket
        self._key = key
        self._fetch = fetch
        self._fetched: StoredBytes | None = None
        self.size = size
        # What has been read: the position of each part, and its bytes.
        self._parts: list[tuple[int, bytes]] = []
        self._read_bytes = 0
        self._ahead_bytes = AHEAD_BYTES
        self._may_fetch = True

    def read(self, start: int, stop: int) -> bytes:
        found: list[bytes] = []
        while start < stop:
            part = self._known(start, stop)
            if not part:
                if self._read_bytes > MOST_RANGES_BYTES:
                    self._fetch_if_possible()
                part = self._fetched.read(start, stop) if self._fetched else self._read_on(start, stop)
                if not part:
                    break
            found.append(part)
            start += len(part)
        return b"".join(found)

    def view(self, size: int) -> bytes | mmap:
        return self._take_everything().view(size)

    def close(self) -> None:
        if self._fetched:
            self._fetched.close()

    def _known(self, start: int, stop: int) -> bytes:
        for begin, data in self._parts:
            if begin <= start < begin + len(data):
                return data[start - begin : stop - begin]
        return b""

    def _read_on(self, start: int, stop: int) -> bytes:
        """Read a range and what is around it, in whole blocks: these have checksums."""
        begin = start - start % BLOCK_BYTES
        is_next = begin in (place + len(data) for place, data in self._parts)
        self._ahead_bytes = min(2 * self._ahead_bytes, MOST_AHEAD_BYTES) if is_next else AHEAD_BYTES
        end = max(stop, begin + self._ahead_bytes)
        end = min(end + -end % BLOCK_BYTES, self.size)
        # Do not read again what is known.
        end = min([end, *(place for place, _ in self._parts if place > start)])
        data = self._bucket.read_range(self._key, begin, end)
        self._parts.append((begin, data))
        self._read_bytes += len(data)
        return data[start - begin : stop - begin]

    def _fetch_if_possible(self) -> None:
        """Fetch everything. If other parts of it are damaged, go on with ranges."""
        if self._may_fetch:
            try:
                self._take_everything()
            except StoreError:
                self._may_fetch = False

    def _take_everything(self) -> StoredBytes:
        if self._fetched is None:
            self._fetched = self._fetch()
            self.size = self._fetched.size
            self._parts.clear()
        return self._fetched
