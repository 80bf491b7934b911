"""Decide from its beginning whether a payload is binary data, and in which format."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.core.payload import Payload

# The first bytes of common formats. Text may begin with `PK` or `BM`, so such short ones are left out.
MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\x89PNG\r\n\x1a\n": "PNG image",
    b"\xff\xd8\xff": "JPEG image",
    b"GIF87a": "GIF image",
    b"GIF89a": "GIF image",
    b"%PDF-": "PDF",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    b"\x7fELF": "ELF program",
    b"SQLite format 3\x00": "SQLite database",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"\x00asm": "WebAssembly",
    b"\xca\xfe\xba\xbe": "Java class or Mach-O program",
    b"\xcf\xfa\xed\xfe": "Mach-O program",
    b"MZ\x90\x00": "Windows program",
    b"OggS": "Ogg",
    b"ID3": "MP3",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
    b"PAR1": "Parquet",
}
# This much of a payload is examined.
SAMPLE_BYTES = 1 << 16
TAR = 257, b"ustar"
CONTROLS = bytes(sign for sign in range(32) if sign not in b"\t\n\r\f\b\x1b\x07")


def is_binary(payload: Payload) -> bool:
    """Return whether a payload is binary data."""
    return bool(kind_of(payload))


def kind_of(payload: Payload) -> str:
    """Return the format of a binary payload; empty for text."""
    return binary_kind(payload.read(0, min(payload.size, SAMPLE_BYTES)))


def binary_kind(beginning: bytes) -> str:
    """Return the format of binary data that begins like this; empty for text."""
    text = beginning.decode("utf-8", "replace")
    # The last character may be cut off.
    broken = text[:-1].count("\ufffd")
    controls = len(beginning) - len(beginning.translate(None, CONTROLS))
    looks_binary = b"\x00" in beginning or (broken + controls) * 10 > len(text)
    named = next((name for magic, name in MAGIC.items() if beginning.startswith(magic)), "")
    if named in ("PDF", "bzip2", "MP3", "Ogg", "GIF image", "Parquet"):
        # These begin with letters, and so may a text.
        return named if looks_binary or broken or controls else ""
    if beginning[TAR[0] : TAR[0] + len(TAR[1])] == TAR[1] and b"\x00" in beginning[:512]:
        return "tar"
    return named or ("unknown format" if looks_binary else "")
