"""Writing to file descriptors."""

from __future__ import annotations

import os


def write_all(descriptor: int, data: bytes | bytearray | memoryview) -> None:
    """Write all of `data`, in as many steps as the system needs; `OSError` if that fails."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
