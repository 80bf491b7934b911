"""The embedded encodings, loaded into tiktoken once for all tests of a process.

Every test opens its tokenizers anew, as a new process does. Loading tiktoken takes a tenth of a second
or two, and tens of megabytes that are free only much later, which makes every fork of the tests slow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcap.tokens import embedded
from tokcap.tokens.embedded import EmbeddedTokenizer

if TYPE_CHECKING:
    from tokcap.tokens.bpe import BytePairTokenizer

_read, _load = embedded.ranks, EmbeddedTokenizer._load_byte_pair
_place = embedded.DIRECTORY
_loaded: dict[str, BytePairTokenizer] = {}


def load_once(tokenizer: EmbeddedTokenizer) -> BytePairTokenizer:
    """Stand in for `EmbeddedTokenizer._load_byte_pair`. A test that replaces the files loads them by it."""
    if embedded.ranks is not _read or _place != embedded.DIRECTORY:
        return _load(tokenizer)
    if tokenizer.name not in _loaded:
        _loaded[tokenizer.name] = _load(tokenizer)
    return _loaded[tokenizer.name]
