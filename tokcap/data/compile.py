"""Compile a published tiktoken table into tokcap's compact form; and what start-up reads of it.

    python -m tokcap.data.compile cl100k_base.tiktoken tokcap/data/cl100k_base.vocab
    python -m tokcap.data.compile --start-up

The name of the vocabulary is that of the table file; `Vocabulary.published_table` restores it byte
for byte, so that its digest can be checked against the published one. The second form makes the buckets of
all embedded vocabularies, and the patterns that need no compiling.
"""

from __future__ import annotations

import base64
import hashlib
import os
import sys

from tokcap import jsontext
from tokcap.cut import passing
from tokcap.patterns import READY_FILE, key_of
from tokcap.tokens import buckets, splits, vocabulary
from tokcap.tokens.presplit import PRE_SPLIT
from tokcap.tokens.vocabulary import EMBEDDED, Vocabulary

# What a call may have to match that counts, or that cuts JSON: sources with their flags.
PATTERNS = (
    *((source, 0) for source in (*PRE_SPLIT.values(), splits.WORDS_AND_LINES)),
    *((pattern.pattern, pattern.flags) for pattern in (*jsontext.PATTERNS, *passing.PATTERNS)),
)


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


def bucketed(vocabulary: Vocabulary) -> bytes:
    """The content of a file of buckets (see `tokens.buckets`)."""
    contents = [b""] * buckets.BUCKETS
    for token, rank in vocabulary.ranks().items():
        if len(token) == 1:
            continue
        if buckets.BEGIN in token or buckets.END in token:
            raise ValueError(f"{vocabulary.name}: token {rank} is no part of UTF-8")
        stored = bytes((rank >> 14, rank >> 7 & 0x7F, rank & 0x7F))
        entry = buckets.BEGIN + token + buckets.END + stored
        contents[int.from_bytes(token) % buckets.BUCKETS] += entry
    offset = buckets.BUCKETS_BEGIN
    offsets = []
    for content in [*contents, b""]:
        offsets.append(offset.to_bytes(buckets.OFFSET_BYTES, "little"))
        offset += len(content)
    return b"".join((buckets.FORMAT, *offsets, *contents))


def ready_patterns() -> bytes:
    """The content of the file that `tokcap.patterns` reads: a line for the source, one for its code."""
    from re import _compiler, _parser  # type: ignore[attr-defined]  # the only way to the code itself

    lines = []
    for source, flags in PATTERNS:
        parsed = _parser.parse(source, flags)
        code = _compiler._code(parsed, flags)
        words = b"".join(int(word).to_bytes(4, "little") for word in code)
        lines += [key_of(source, flags).decode(), f"{parsed.state.groups - 1} {words.hex()}"]
    return "".join(f"{line}\n" for line in lines).encode()


def compile_start_up() -> None:
    """Make anew what is made from the embedded vocabularies and from the patterns."""
    for name in EMBEDDED:
        with open(os.path.join(vocabulary.DIRECTORY, f"{name}.buckets"), "wb") as file:
            file.write(bucketed(vocabulary.load(name)))
    with open(READY_FILE, "wb") as file:
        file.write(ready_patterns())


def main(arguments: list[str]) -> int:
    if arguments == ["--start-up"]:
        compile_start_up()
        return 0
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
