"""Compile a published tiktoken table into the two files that tokcap reads.

    python -m tokcap.tokens.compile cl100k_base.tiktoken tokcap/tokens/data/cl100k_base.vocab
    python -m tokcap.tokens.compile --buckets

The first form writes the compact vocabulary, named after the table file. `Vocabulary.published_table`
restores the table byte for byte, so that its digest can be compared with the published one. The second form
writes the bucket files of all embedded vocabularies.
"""

from __future__ import annotations

import base64
import hashlib
import os
import sys

from tokcap.tokens import buckets, embedded, vocabulary
from tokcap.tokens.small_text import ASCII, merged_lengths
from tokcap.tokens.vocabulary import Vocabulary


def compile_table(name: str, table: bytes) -> Vocabulary:
    """Read a table of `base64(token) rank` lines. The ranks must be 0, 1, 2, …"""
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


def bucket_file(vocabulary: Vocabulary) -> bytes:
    """Return the content of the bucket file of a vocabulary (see `tokens.buckets`)."""
    contents = [b""] * buckets.BUCKETS
    for token, rank in vocabulary.ranks().items():
        if len(token) == 1:
            continue
        if buckets.BEGIN in token or buckets.END in token:
            raise ValueError(f"{vocabulary.name}: token {rank} contains a byte that UTF-8 never uses")
        stored = bytes((rank >> 14, rank >> 7 & 0x7F, rank & 0x7F))
        entry = buckets.BEGIN + token + buckets.END + stored
        contents[int.from_bytes(token) % buckets.BUCKETS] += entry
    offset = buckets.BUCKETS_BEGIN
    offsets = []
    for content in [*contents, b""]:
        offsets.append(offset.to_bytes(buckets.OFFSET_BYTES, "little"))
        offset += len(content)
    return b"".join((buckets.FORMAT, *offsets, *contents))


def first_merges(vocabulary: Vocabulary) -> bytes:
    """Return the first merges in ASCII, two bytes for each (see `small_text.FirstMerges`)."""
    # From 128 on, a byte stands for the merge of that number. The last byte stands for none.
    bytes_of = {bytes((number,)): bytes((number,)) for number in range(ASCII)}
    pairs = b""
    earlier = EarlierTokens()
    for token, rank in vocabulary.ranks().items():
        if len(token) > 1 and token.isascii():
            # Without this token itself, the merges end in the two tokens that are merged to it.
            first_bytes, *others = merged_lengths([bytes((byte,)) for byte in token], earlier)
            if len(others) > 1:
                # It is never merged, only found whole. What follows it is not examined.
                break
            pairs += bytes_of[token[:first_bytes]] + bytes_of[token[first_bytes:]]
            bytes_of[token] = bytes((len(bytes_of),))
        if len(bytes_of) == 0xFF:
            break
        earlier[token] = rank
    return pairs


class EarlierTokens(buckets.Ranks):
    """The ranks of the tokens so far."""

    def __init__(self) -> None:
        """Read no file."""

    def __missing__(self, token: bytes) -> int:
        return buckets.NO_RANK


def write_bucket_files() -> None:
    """Write the bucket files of the embedded vocabularies."""
    for name in embedded.NAMES:
        with open(os.path.join(embedded.DIRECTORY, f"{name}.buckets"), "wb") as file:
            file.write(bucket_file(vocabulary.load(name)))


def main(arguments: list[str]) -> int:
    if arguments == ["--buckets"]:
        write_bucket_files()
        return 0
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    source, target = arguments
    name = os.path.basename(source).removesuffix(".tiktoken")
    with open(source, "rb") as file:
        vocabulary = compile_table(name, file.read())
    with open(target, "wb") as file:
        file.write(vocabulary.packed())
    print(f"{target}: {len(vocabulary.lengths)} tokens, sha256 of the table {vocabulary.table_sha256}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
