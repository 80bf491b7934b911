"""The digest of a long stream: leaves of 64 KiB, and a root over the digests of all leaves.

This is the tree mode of BLAKE2b with two levels, with one exception: the last leaf is not marked as the last
node, because a stream does not know its last leaf before it ends. A window can be checked by its leaves
alone, and leaves can be hashed side by side: compiled code hashes four at a time.
"""

from __future__ import annotations

from tokcap.lean.digest import DIGEST_BYTES, blake2b
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# Returns the digests of whole groups of four leaves; what is left over is not hashed.
hash_fours: Callable[[memoryview, int], bytes] | None
try:
    from tokcap.store._native import leaf_digests as hash_fours
except ImportError:
    # The package was built without a compiler, or the processor cannot do it.
    hash_fours = None

LEAF_BYTES = 1 << 16


class TreeDigest:
    """Hashes the bytes that it is given, like `blake2b`.

    first_leaf: the number of the leaf with which they begin. If it is not 0, use only `leaves`.
    """

    def __init__(self, first_leaf: int = 0) -> None:
        self._first_leaf = first_leaf
        self.size = 0
        # The digests of the leaves that are complete, one after another.
        self._complete = bytearray()
        # The last leaf, if it is not complete.
        self._begun: blake2b | None = None

    @property
    def is_compiled(self) -> bool:
        """Whether compiled code does most of the work."""
        return hash_fours is not None

    def update(self, data: bytes | memoryview) -> None:
        """Add the bytes that follow."""
        with memoryview(data) as view:
            place = self._continue_leaf(view)
            while place < len(view):
                number = self._first_leaf + self.size // LEAF_BYTES
                fours = hash_fours(view[place:], number) if hash_fours else b""
                if fours:
                    self._complete += fours
                    hashed = len(fours) // DIGEST_BYTES * LEAF_BYTES
                else:
                    hashed = self._begin_leaf(number, view[place : place + LEAF_BYTES])
                place += hashed
                self.size += hashed

    def _continue_leaf(self, view: memoryview) -> int:
        """Add what belongs to the leaf that has begun. Return how many bytes were hashed."""
        if self._begun is None:
            return 0
        part = view[: LEAF_BYTES - self.size % LEAF_BYTES]
        self._begun.update(part)
        self.size += len(part)
        if self.size % LEAF_BYTES == 0:
            self._complete += self._begun.digest()
            self._begun = None
        return len(part)

    def _begin_leaf(self, number: int, part: memoryview) -> int:
        """Hash the next leaf, as much as there is of it. Return how many bytes were hashed."""
        leaf = node(node_offset=number, node_depth=0)
        leaf.update(part)
        if len(part) == LEAF_BYTES:
            self._complete += leaf.digest()
        else:
            self._begun = leaf
        return len(part)

    def leaves(self) -> bytes:
        """Return the digests of all leaves, one after another."""
        return bytes(self._complete) + (self._begun.digest() if self._begun else b"")

    def digest(self) -> bytes:
        """Return the digest of the root."""
        return node(node_offset=0, node_depth=1, last_node=True, data=self.leaves()).digest()


def node(*, node_offset: int, node_depth: int, last_node: bool = False, data: bytes = b"") -> blake2b:
    """Begin to hash a leaf (depth 0), or hash the digests of all leaves (depth 1)."""
    return blake2b(
        data,
        digest_size=DIGEST_BYTES,
        inner_size=DIGEST_BYTES,
        leaf_size=LEAF_BYTES,
        fanout=0,
        depth=2,
        node_offset=node_offset,
        node_depth=node_depth,
        last_node=last_node,
    )
