"""Read a vocabulary from its compact file. Never uses the network.

A file has a header of four lines (format, name, sha256 of the published table, number of tokens), then the
length of each token in one byte, then the bytes of all tokens; both in order of rank.
"""

from __future__ import annotations

import os

from tokcap.lean.record import Record
from tokcap.tokens.embedded import DIRECTORY

FORMAT = b"tokcap vocabulary 1"


class Vocabulary(Record):
    """All tokens of one encoding, in order of rank."""

    name: str
    table_sha256: str
    lengths: bytes
    joined: bytes

    def ranks(self) -> dict[bytes, int]:
        """Return the rank of each token, in the form that tiktoken takes."""
        ranks: dict[bytes, int] = {}
        joined = self.joined
        start = 0
        for rank, length in enumerate(self.lengths):
            end = start + length
            ranks[joined[start:end]] = rank
            start = end
        return ranks

    def published_table(self) -> bytes:
        """Return the table that it was compiled from, byte for byte: lines of `base64(token) rank`."""
        from binascii import b2a_base64

        rows = []
        start = 0
        for rank, length in enumerate(self.lengths):
            end = start + length
            rows.append(b"%b %d\n" % (b2a_base64(self.joined[start:end], newline=False), rank))
            start = end
        return b"".join(rows)

    def packed(self) -> bytes:
        """Return the content of its file."""
        header = (FORMAT, self.name.encode(), self.table_sha256.encode(), b"%d" % len(self.lengths))
        return b"\n".join(header) + b"\n" + self.lengths + self.joined


def unpacked(data: bytes) -> Vocabulary:
    """Read what `packed` wrote."""
    form, name, sha256, count, body = data.split(b"\n", 4)
    if form != FORMAT:
        raise ValueError(f"not a vocabulary of this version: {form[:40]!r}")
    tokens = int(count)
    return Vocabulary(name.decode(), sha256.decode(), body[:tokens], body[tokens:])


def load(name: str) -> Vocabulary:
    """Read the embedded vocabulary of this name."""
    return read(os.path.join(DIRECTORY, f"{name}.vocab"))


def read(path: str) -> Vocabulary:
    """Read the vocabulary in a file."""
    with open(path, "rb") as file:
        return unpacked(file.read())
