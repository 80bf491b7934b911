"""The files of the embedded vocabularies: made of the tables that OpenAI has published, and back.

python -m tests.support.vocabularies cl100k_base.tiktoken
"""

from __future__ import annotations

import os
import sys
from binascii import a2b_base64, b2a_base64
from typing import TYPE_CHECKING

from tokcap.tokens.embedded import (
    BEGIN,
    BUCKETS,
    BUCKETS_BEGIN,
    BYTES_BY_RANK,
    END,
    FORMAT,
    OFFSET_BYTES,
    path_of,
    ranks,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


def published_table(name: str) -> bytes:
    """Return the table that a vocabulary was compiled from, byte for byte: lines of `base64(token) rank`."""
    ranked = ranks(name)
    ordered = sorted(ranked, key=ranked.__getitem__)
    return b"".join(b"%b %d\n" % (b2a_base64(token, newline=False), ranked[token]) for token in ordered)


def ranks_of_table(table: bytes) -> Mapping[bytes, int]:
    """Read a table of `base64(token) rank` lines."""
    rows = map(bytes.split, table.splitlines())
    return {a2b_base64(encoded): int(rank) for encoded, rank in rows}


def packed(ranked: Mapping[bytes, int]) -> bytes:
    """Return the content of the file of a vocabulary. Its bytes must have the ranks of `BYTES_BY_RANK`."""
    contents = [b""] * BUCKETS
    for token, rank in ranked.items():
        if len(token) == 1:
            if BYTES_BY_RANK[rank] != token[0]:
                raise ValueError(f"the byte {token!r} has the rank {rank}")
            continue
        if BEGIN in token or END in token:
            raise ValueError(f"token {rank} contains a byte that UTF-8 never uses")
        stored = bytes((rank >> 14, rank >> 7 & 0x7F, rank & 0x7F))
        contents[int.from_bytes(token) % BUCKETS] += BEGIN + token + END + stored
    offset = BUCKETS_BEGIN
    offsets = []
    for content in [*contents, b""]:
        offsets.append(offset.to_bytes(OFFSET_BYTES, "little"))
        offset += len(content)
    return b"".join((FORMAT, *offsets, *contents))


if __name__ == "__main__":
    for path in sys.argv[1:]:
        with open(path, "rb") as source:
            made = packed(ranks_of_table(source.read()))
        with open(path_of(os.path.basename(path).removesuffix(".tiktoken")), "wb") as target:
            target.write(made)
