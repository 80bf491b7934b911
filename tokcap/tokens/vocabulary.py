"""The embedded vocabularies: compact file in, token table out. Never touches the network.

A file is a header of four lines (format, name, sha256 of the published table, number of tokens),
then one byte per token with its length, then the bytes of all tokens; both in the order of rank.
"""

from __future__ import annotations

import os

from tokcap.lean.record import Record

FORMAT = b"tokcap vocabulary 1"
DIRECTORY = os.path.join(os.path.dirname(__file__), "data")

EMBEDDED = ("cl100k_base", "o200k_base")


class Vocabulary(Record):
    """All tokens of one encoding; a token's rank is its place."""

    name: str
    table_sha256: str
    lengths: bytes
    joined: bytes

    def ranks(self) -> dict[bytes, int]:
        """Token bytes to rank, as tiktoken wants them."""
        ranks: dict[bytes, int] = {}
        joined = self.joined
        start = 0
        for rank, length in enumerate(self.lengths):
            end = start + length
            ranks[joined[start:end]] = rank
            start = end
        return ranks

    def published_table(self) -> bytes:
        """The table that it was compiled from, byte for byte: lines of `base64(token) rank`."""
        from binascii import b2a_base64

        rows = []
        start = 0
        for rank, length in enumerate(self.lengths):
            end = start + length
            rows.append(b"%b %d\n" % (b2a_base64(self.joined[start:end], newline=False), rank))
            start = end
        return b"".join(rows)

    def packed(self) -> bytes:
        """The file's content."""
        header = (FORMAT, self.name.encode(), self.table_sha256.encode(), b"%d" % len(self.lengths))
        return b"\n".join(header) + b"\n" + self.lengths + self.joined


def unpacked(data: bytes) -> Vocabulary:
    """The inverse of `packed`."""
    form, name, sha256, count, body = data.split(b"\n", 4)
    if form != FORMAT:
        raise ValueError(f"not a vocabulary of this version: {form[:40]!r}")
    tokens = int(count)
    return Vocabulary(name.decode(), sha256.decode(), body[:tokens], body[tokens:])


def load(name: str) -> Vocabulary:
    """Read one of the `EMBEDDED` vocabularies."""
    with open(os.path.join(DIRECTORY, f"{name}.vocab"), "rb") as file:
        return unpacked(file.read())
