"""The object that describes a shared output: its record and indexes in one, so that one request fetches them.

It is written last. An output without it was never completely uploaded, and cannot be found. Each file in it
is compressed and has its own checksum, so damage to one does not cost the others.
"""

from __future__ import annotations

import zlib

from tokcap.errors import StoreError
from tokcap.lean.digest import checksum
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MAGIC = b"tokcap shared output "
VERSION = b"1\n"
SIZE_BYTES, SEAL_BYTES = 8, 4
# An index grows with its payload, up to a limit; one with more was not written by tokcap.
LARGEST_FILE_BYTES = 64 << 20
# Fast: this is done while somebody waits, and most of it are numbers.
LEVEL = 1


class NewerVersion(StoreError):
    """A later version of tokcap has written this."""


def packed(files: Mapping[str, bytes]) -> bytes:
    """Return the object with these files."""
    parts = [MAGIC + VERSION]
    for name, data in files.items():
        body = zlib.compress(data, LEVEL)
        title = name.encode()
        parts += (bytes((len(title),)), title, len(body).to_bytes(SIZE_BYTES, "little"), body, checksum(body))
    return b"".join(parts)


def unpacked(data: bytes) -> dict[str, bytes]:
    """Return the files in an object that are not damaged; `NewerVersion` if a later tokcap wrote it."""
    if not data.startswith(MAGIC + VERSION):
        head, _, _ = data[: len(MAGIC) + 20].partition(b"\n")
        number = head.removeprefix(MAGIC)
        if head != number and number.isdigit() and number + b"\n" != VERSION:
            raise NewerVersion("it was written by a newer version of tokcap; update tokcap here")
        return {}
    files = {}
    place = len(MAGIC + VERSION)
    while place < len(data):
        name_end = place + 1 + data[place]
        name = data[place + 1 : name_end].decode("utf-8", "replace")
        begin = name_end + SIZE_BYTES
        end = begin + int.from_bytes(data[name_end:begin], "little")
        body, seal = data[begin:end], data[end : end + SEAL_BYTES]
        if seal == checksum(body) and (found := inflated(body)) is not None:
            files[name] = found
        place = end + SEAL_BYTES
    return files


def inflated(body: bytes) -> bytes | None:
    """Return what was compressed; None if it is something else, or too large."""
    stream = zlib.decompressobj()
    try:
        data = stream.decompress(body, LARGEST_FILE_BYTES)
    except zlib.error:
        return None
    return data if stream.eof else None
