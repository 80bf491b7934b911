"""Fingerprints: the bytes of an output in, the digest by which it is stored out."""

from __future__ import annotations

from tokcap.lean.digest import blake2b
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from _thread import LockType
    from collections.abc import Iterable

DIGEST_BYTES = 20


class Fingerprint:
    """Of one stream: the digest of the bytes that are stored, and how many there were in all."""

    def __init__(self, most_bytes: int) -> None:
        self._hash = blake2b(digest_size=DIGEST_BYTES)
        self._room = most_bytes
        self._size = 0
        self._at_work: LockType | None = None

    def update_aside(self, block: memoryview) -> None:
        """The same while something else is done: hashing leaves the interpreter to others."""
        self.wait()
        from _thread import allocate_lock, start_new_thread

        self._at_work = allocate_lock()
        has_begun = allocate_lock()
        self._at_work.acquire()
        has_begun.acquire()

        def work(at_work: LockType) -> None:
            has_begun.release()
            with block:
                self.update(block)
            at_work.release()

        try:
            start_new_thread(work, (self._at_work,))
        except RuntimeError:
            work(self._at_work)
        # A thread gets its turn only when another gives way; this one would be busy until the end.
        has_begun.acquire()

    def update(self, block: bytes | memoryview, lost: int = 0) -> None:
        """These bytes, behind which so many followed that nobody kept."""
        self._size += len(block) + lost
        if self._room:
            self._hash.update(block[: self._room])
            self._room -= min(self._room, len(block))

    def wait(self) -> None:
        """Until nothing is hashed aside any more."""
        if self._at_work:
            with self._at_work:
                pass
            self._at_work = None

    def sealed(self) -> bytes:
        self.wait()
        return self._hash.digest() + self._size.to_bytes(8, "little")


def digest_of(fingerprints: Iterable[Fingerprint]) -> str:
    """The digest of an output, from those of its streams."""
    joined = b"".join(fingerprint.sealed() for fingerprint in fingerprints)
    return blake2b(joined, digest_size=DIGEST_BYTES).hexdigest()
