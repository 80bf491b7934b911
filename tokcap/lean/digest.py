"""BLAKE2 without importing `hashlib`, which loads OpenSSL and takes half as long as starting Python."""

from __future__ import annotations

try:
    from _blake2 import blake2b
except ModuleNotFoundError:
    # Not for any `ImportError`: without memory for it, `hashlib` would log a traceback for each algorithm.
    from hashlib import blake2b

__all__ = ["blake2b", "checksum"]


def checksum(data: bytes) -> bytes:
    """Return four bytes that detect accidental damage."""
    return blake2b(data, digest_size=4).digest()
