"""BLAKE2 without importing `hashlib`, which loads OpenSSL and takes half as long as starting Python."""

from __future__ import annotations

try:
    from _blake2 import blake2b
except ModuleNotFoundError:
    # Not for any `ImportError`: without memory for it, `hashlib` would log a traceback for each algorithm.
    from hashlib import blake2b

__all__ = ["DIGEST_BYTES", "blake2b", "checksum"]

# The size of the digest of an output, and of each part of it.
DIGEST_BYTES = 20


def checksum(data: bytes) -> bytes:
    """Return four bytes that detect accidental damage."""
    return blake2b(data, digest_size=4).digest()
