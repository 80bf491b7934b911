"""Count the tokens of one file, or of standard input. Nothing is stored."""

from __future__ import annotations

import os
import stat

from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.tokens import open_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment

STANDARD_INPUT = "-"
# The size of a pipe.
READ_BYTES = 1 << 16


class FileCount(Record):
    """What was counted."""

    tokens: int
    size_bytes: int
    valid_utf8: bool


def count_file(
    path: str, tokenizer: Tokenizer, env: Environment, seen: Callable[[int], None] | None = None
) -> FileCount:
    """Count a file; `OSError` or `TokcapError` if it cannot be read. `seen` gets the bytes of each read."""
    if path == STANDARD_INPUT:
        from tokcap.source.stdin import StandardInput

        blocks = StandardInput(env).blocks()
        return count_descriptor(env.stdin, tokenizer, (block for _, block in blocks), seen)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return count_descriptor(descriptor, tokenizer, blocks_of(descriptor), seen)
    finally:
        os.close(descriptor)


def count_descriptor(
    descriptor: int, tokenizer: Tokenizer, blocks: Iterator[bytes], seen: Callable[[int], None] | None
) -> FileCount:
    """Count a file where it is, and anything else as it comes."""
    begin, size = part_of(descriptor)
    if size <= 0:
        return count_blocks(blocks, tokenizer, seen)
    from tokcap.source.file_payload import FilePayload

    index = open_index(FilePayload(descriptor, size, begin, seen), tokenizer)
    return FileCount(index.total_tokens, size, index.valid_utf8)


def part_of(descriptor: int) -> tuple[int, int]:
    """Return where reading would start and how much follows; no size if only reading can tell."""
    status = os.fstat(descriptor)
    if stat.S_ISDIR(status.st_mode):
        import errno

        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    # Files of the kernel have no size until they are read.
    if not stat.S_ISREG(status.st_mode) or not status.st_size:
        return 0, 0
    begin = os.lseek(descriptor, 0, os.SEEK_CUR)
    return begin, status.st_size - begin


def count_blocks(
    blocks: Iterator[bytes], tokenizer: Tokenizer, seen: Callable[[int], None] | None
) -> FileCount:
    from tokcap.core.tokenizer import tokens_of
    from tokcap.tokens.chunks import Chunks, as_text, is_utf8

    units = size_bytes = 0
    valid_utf8 = True
    chunks = Chunks(blocks, tokenizer)
    for chunk in chunks:
        units += chunks.tokenizer.units(as_text(chunk))
        size_bytes += len(chunk)
        valid_utf8 = valid_utf8 and is_utf8(chunk)
        if seen:
            seen(len(chunk))
    return FileCount(tokens_of(units, tokenizer), size_bytes, valid_utf8)


def blocks_of(descriptor: int) -> Iterator[bytes]:
    while block := os.read(descriptor, READ_BYTES):
        yield block
