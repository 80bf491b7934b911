"""A `.tiktoken` table: for each token a line with its bytes in Base64 and its rank. It has no pattern."""

from __future__ import annotations

import binascii
from typing import TYPE_CHECKING

from tokcap.tokens.pre_split import PRE_SPLIT
from tokcap.tokens.sources.base import Refused
from tokcap.tokens.sources.ranked import ranked
from tokcap.tokens.sources.split_names import name_of_splits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.tokens.sources.base import Published
    from tokcap.tokens.sources.source_file import SourceFile


class TiktokenFormat:
    """Lines of `base64(token) rank`."""

    description = "table of tiktoken"

    def recognizes(self, file: SourceFile) -> bool:
        encoded, _, rank = file.beginning.partition(b"\n")[0].strip().partition(b" ")
        return bool(encoded) and rank.isdigit()

    def read(self, file: SourceFile, pre_split: str) -> Published:
        if not pre_split:
            raise Refused(f"a table has no pattern; name it with --pre-split: {', '.join(PRE_SPLIT)}")
        name = pre_split if pre_split in PRE_SPLIT else name_of_splits([pre_split])
        return ranked(rows_of(file.content), name)


def rows_of(content: bytes) -> Iterator[tuple[bytes, int]]:
    for number, line in enumerate(content.splitlines()):
        if not line:
            continue
        try:
            encoded, rank = line.split()
            yield binascii.a2b_base64(encoded, strict_mode=True), int(rank)
        except ValueError:
            raise Refused(f"line {number + 1} is not a token and its rank") from None


FORMAT = TiktokenFormat()
