"""The metadata of a GGUF model: keys and values at the beginning of the file. What follows is never read."""

from __future__ import annotations

import hashlib
import struct
from typing import TYPE_CHECKING, Any, BinaryIO

from tokcap.tokens.sources.base import MOST_MERGES, Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

MAGIC = b"GGUF"
VERSIONS = (2, 3)
# Published models have fewer than a hundred keys; all their metadata has less than 20 MB.
MOST_KEYS = 1 << 12
MOST_KEY_BYTES = 1 << 10
MOST_METADATA_BYTES = 256 << 20
# A value that is not used can be longer: a chat template, for example.
MOST_STRING_BYTES = 16 << 20
# All arrays of texts together. Published models have fewer than a million tokens and merges.
MOST_TEXTS = 1 << 21
PREFIX = "tokenizer.ggml."

# The numbers of the types, and how fixed ones are unpacked.
STRING, ARRAY = 8, 9
FIXED = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}


class Metadata:
    """What the file says about its tokenizer, by key without `tokenizer.ggml.`; and a digest of that."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._left = min(size, MOST_METADATA_BYTES)
        self._texts_left = MOST_TEXTS
        self._digest: Any = None
        self.values: Mapping[str, Any] = self._read()

    def _read(self) -> Mapping[str, Any]:
        magic, version, _, keys = struct.unpack("<4sIQQ", self._take(24))
        if magic != MAGIC or version not in VERSIONS:
            raise Refused(f"it is a GGUF file of version {version}, which is not known")
        if keys > MOST_KEYS:
            raise Refused(f"it has {keys} keys; no model has more than {MOST_KEYS}")
        found: dict[str, Any] = {}
        digest = hashlib.sha256()
        for _ in range(keys):
            self._digest = None
            key = self._string(MOST_KEY_BYTES).decode("utf-8", "replace")
            self._digest = digest if key.startswith(PREFIX) else None
            if self._digest:
                digest.update(b"%s\n" % key.encode())
            value = self._value(self._number("<I"), is_needed=bool(self._digest))
            if self._digest:
                found[key.removeprefix(PREFIX)] = value
        self.sha256 = digest.hexdigest()
        return found

    def _take(self, size: int) -> bytes:
        self._left -= size
        data = self._file.read(size) if self._left >= 0 else b""
        if len(data) < size:
            raise Refused("it ends inside its metadata, or has too much of it")
        if self._digest:
            self._digest.update(data)
        return data

    def _skip(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise Refused("it ends inside its metadata, or has too much of it")
        self._file.seek(size, 1)

    def _number(self, kind: str) -> Any:
        return struct.unpack(kind, self._take(struct.calcsize(kind)))[0]

    def _string(self, most: int = MOST_STRING_BYTES) -> bytes:
        size = int.from_bytes(self._take(8), "little")
        if size > most:
            raise Refused(f"it has a text of {size} bytes in its metadata")
        return self._take(size)

    def _value(self, kind: int, *, is_needed: bool) -> Any:
        if kind == STRING:
            return self._string()
        if kind == ARRAY:
            return self._array(is_needed=is_needed)
        if kind not in FIXED:
            raise Refused(f"it has a value of the unknown type {kind}")
        return self._number(FIXED[kind])

    def _array(self, *, is_needed: bool) -> Any:
        kind, number = struct.unpack("<IQ", self._take(12))
        if kind == STRING:
            if number > MOST_MERGES:
                raise Refused(f"it has an array of {number} texts; no model has more than {MOST_MERGES}")
            self._texts_left -= number
            if self._texts_left < 0:
                raise Refused(f"it has more than {MOST_TEXTS} texts in its metadata")
            return [self._string() for _ in range(number)]
        if kind not in FIXED:
            raise Refused(f"it has an array of the type {kind}, which is not known")
        size = struct.calcsize(FIXED[kind]) * number
        if not is_needed:
            return self._skip(size)
        if number > MOST_MERGES:
            raise Refused(f"it has an array of {number} numbers; no model has more than {MOST_MERGES}")
        return struct.unpack(f"<{number}{FIXED[kind][1]}", self._take(size))
