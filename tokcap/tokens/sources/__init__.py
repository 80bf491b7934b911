"""Vocabularies as others publish them. `FORMATS` lists every file format that can be compiled."""

from tokcap.lean.record import TYPE_CHECKING
from tokcap.lean.table import Table

if TYPE_CHECKING:
    from tokcap.tokens.sources.base import SourceFormat

# Asked in this order; the first one that recognizes a file reads it.
FORMATS: "Table[SourceFormat]" = Table(
    gguf="tokcap.tokens.sources.gguf:FORMAT",
    tekken="tokcap.tokens.sources.tekken:FORMAT",
    huggingface="tokcap.tokens.sources.huggingface:FORMAT",
    tiktoken="tokcap.tokens.sources.tiktoken_table:FORMAT",
)

__all__ = ["FORMATS"]
