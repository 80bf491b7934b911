"""Compute the digest of an output. Its handle is the first digits of this digest."""

from __future__ import annotations

from tokcap.lean.digest import blake2b
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from _thread import LockType
    from collections.abc import Iterable, Mapping

    from tokcap.core.payload import Payload
    from tokcap.core.request import Stream

DIGEST_BYTES = 20
# Read a stored output in steps of this many bytes.
BLOCK_BYTES = 1 << 20


class StreamDigest:
    """The digest of one stream: of its bytes that are stored, and of its total size."""

    def __init__(self, most_bytes: int) -> None:
        self._hash = blake2b(digest_size=DIGEST_BYTES)
        self._room = most_bytes
        self._size = 0
        self._running: LockType | None = None

    def update(self, block: bytes | memoryview, lost_bytes: int = 0) -> None:
        """Add a block, and the number of bytes after it that were not kept."""
        self._size += len(block) + lost_bytes
        if self._room:
            self._hash.update(block[: self._room])
            self._room -= min(self._room, len(block))

    def update_in_thread(self, block: memoryview) -> None:
        """Add a block while the caller continues: hashing does not hold the interpreter lock."""
        self.wait()
        from _thread import allocate_lock, start_new_thread

        self._running = allocate_lock()
        has_started = allocate_lock()
        self._running.acquire()
        has_started.acquire()

        def work(running: LockType) -> None:
            has_started.release()
            with block:
                self.update(block)
            running.release()

        try:
            start_new_thread(work, (self._running,))
        except RuntimeError:
            work(self._running)
        # Without this wait, the new thread might not run before the caller is done.
        has_started.acquire()

    def wait(self) -> None:
        """Wait for the thread, if there is one."""
        if self._running:
            with self._running:
                pass
            self._running = None

    def sealed(self) -> bytes:
        """Return the digest and the total size."""
        self.wait()
        return self._hash.digest() + self._size.to_bytes(8, "little")


def digest_of_output(digests: Iterable[StreamDigest]) -> str:
    """Return the digest of an output, from those of its streams."""
    joined = b"".join(digest.sealed() for digest in digests)
    return blake2b(joined, digest_size=DIGEST_BYTES).hexdigest()


def digest_of_stored(streams: Mapping[Stream, Payload]) -> str:
    """Return the digest that stored streams have now. It differs from the recorded one if they changed."""
    digests = []
    for stream in ("out", "err"):
        payload = streams.get(stream)
        if payload is None:
            continue
        digest = StreamDigest(payload.size)
        for start in range(0, payload.size, BLOCK_BYTES):
            digest.update(payload.read(start, min(start + BLOCK_BYTES, payload.size)))
        digest.update(b"", payload.lost)
        digests.append(digest)
    return digest_of_output(digests)
