"""Counting: vocabularies, tokenizers, certain cuts, and where tokens lie in a payload.

`open_tokenizer` finds one by name; `index_payload` counts a payload and maps its tokens to bytes;
`count_bytes` proves a finished text. Nothing else in the program touches a tokenizer.
"""

from tokcap.tokens.chunks import count_bytes
from tokcap.tokens.index import Index, index_payload
from tokcap.tokens.tokenizer import ByteTokenizer, open_tokenizer

__all__ = [
    "ByteTokenizer",
    "Index",
    "count_bytes",
    "index_payload",
    "open_tokenizer",
]
