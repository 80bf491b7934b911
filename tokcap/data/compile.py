"""Compile a published tiktoken table into tokcap's compact form, and back.

    python -m tokcap.data.compile cl100k_base.tiktoken tokcap/data/cl100k_base.vocab

The name of the vocabulary is that of the table file. `published_table` restores the table byte for
byte, so that its digest can be checked against the published one.
"""

from __future__ import annotations

import base64
import hashlib
import os
import sys

from tokcap.tokens.vocabulary import Vocabulary


def compiled(name: str, table: bytes) -> Vocabulary:
    """Read a table of `base64(token) rank` lines; ranks must be 0, 1, 2, …"""
    tokens = []
    for place, line in enumerate(table.splitlines()):
        encoded, rank = line.split()
        if int(rank) != place:
            raise ValueError(f"{name}: line {place + 1} has rank {rank.decode()}")
        tokens.append(base64.b64decode(encoded))
    return Vocabulary(
        name=name,
        table_sha256=hashlib.sha256(table).hexdigest(),
        lengths=bytes(map(len, tokens)),
        joined=b"".join(tokens),
    )


def published_table(vocabulary: Vocabulary) -> bytes:
    """The table that a vocabulary was compiled from."""
    rows = (b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in vocabulary.ranks().items())
    return b"".join(rows)


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    source, target = arguments
    name = os.path.basename(source).removesuffix(".tiktoken")
    with open(source, "rb") as file:
        vocabulary = compiled(name, file.read())
    with open(target, "wb") as file:
        file.write(vocabulary.packed())
    print(f"{target}: {len(vocabulary.lengths)} tokens, sha256 of the table {vocabulary.table_sha256}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
