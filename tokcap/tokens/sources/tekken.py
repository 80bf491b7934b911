"""`tekken.json` of Mistral: tokens by rank, as in tiktoken, and the pattern."""

from __future__ import annotations

import binascii
from typing import TYPE_CHECKING, Any

from tokcap.tokens.sources.base import Refused, from_json, member
from tokcap.tokens.sources.ranked import ranked
from tokcap.tokens.sources.split_names import name_of_splits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.tokens.sources.base import Published
    from tokcap.tokens.sources.source_file import SourceFile


class TekkenFormat:
    """A JSON object with `config` and `vocab`."""

    description = "tekken.json of Mistral"

    def recognizes(self, file: SourceFile) -> bool:
        return file.beginning.lstrip()[:1] == b"{" and b'"default_num_special_tokens"' in file.beginning

    def read(self, file: SourceFile, pre_split: str) -> Published:
        if pre_split:
            raise Refused("it has its own pre-split; leave out --pre-split")
        content = from_json(file.content)
        config = member(content, "config", dict)
        # The file has more tokens than models use.
        size = member(config, "default_vocab_size", int) - member(config, "default_num_special_tokens", int)
        vocabulary = member(content, "vocab", list)
        if not 0 < size <= len(vocabulary):
            raise Refused(f"it has {len(vocabulary)} tokens, and not {size}")
        name = name_of_splits([member(config, "pattern", str)])
        return ranked(rows_of(vocabulary[:size]), name)


def rows_of(vocabulary: Sequence[Any]) -> Iterator[tuple[bytes, int]]:
    for number, row in enumerate(vocabulary):
        try:
            yield binascii.a2b_base64(row["token_bytes"], strict_mode=True), int(row["rank"])
        except (ValueError, TypeError, KeyError):
            raise Refused(f"entry {number + 1} is not a token and its rank") from None


FORMAT = TekkenFormat()
