"""Counting: vocabularies, tokenizers, certain cuts, and where tokens lie in a payload.

`open_tokenizer` finds one by name; `Index` counts a payload as far as asked and maps its tokens to bytes;
`count_bytes` proves a finished text. Nothing else in the program touches a tokenizer.
"""

from tokcap.tokens.checkpoints import Checkpoints
from tokcap.tokens.chunks import count_bytes
from tokcap.tokens.index import Index
from tokcap.tokens.tokenizer import ByteTokenizer, open_tokenizer

__all__ = [
    "ByteTokenizer",
    "Checkpoints",
    "Index",
    "count_bytes",
    "open_tokenizer",
]
