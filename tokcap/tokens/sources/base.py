"""The interface of a file format, and what a file says about a vocabulary. Nothing here trusts a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from tokcap.lean.record import Record
from tokcap.tokens.added import BYTE_PAIR, NO_PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokcap.tokens.sources.source_file import SourceFile

# More tokens than any published vocabulary has; their ranks must fit into the compiled file.
MOST_TOKENS = 1 << 20
# No published tokenizer has more merges for each of its tokens.
MOST_MERGES = 1 << 22
# The values in a JSON file. Published ones have at most two million.
MOST_JSON_PARTS = 1 << 22
# Bytes that never occur in UTF-8. Text that is not UTF-8 is replaced before it is counted.
NEVER_IN_TEXT = frozenset((0xC0, 0xC1, *range(0xF5, 0x100)))


class Refused(Exception):
    """The file is damaged, or cannot be compiled exactly. The message says why, in a few words."""


class NotExact(Refused):
    """The file can be read, but what it does with texts cannot be compiled."""


class Published(Record):
    """A byte-pair vocabulary as a file has it."""

    # All tokens that can occur in text, as bytes.
    tokens: frozenset[bytes]
    # The rank of each pair that is merged; None: the rank of a token is the rank of every pair that makes it.
    merges: Mapping[tuple[bytes, ...], int] | None
    # The rank of each token, if `merges` is None.
    ranks: Mapping[bytes, int] | None
    # Whether a piece that is a token is not merged.
    whole_pieces_first: bool
    # A name in `PRE_SPLIT`.
    pre_split: str
    # "nfc" or "none".
    normalizer: str
    # What a compiled tokenizer is opened with (see `added.ENCODERS`), and when a text gets a blank before it.
    encoder: str = BYTE_PAIR
    prefix: str = NO_PREFIX
    # The digest of what was read, if that is not all of the file.
    sha256: str = ""


def from_json(content: bytes) -> Any:
    """Return the value in a JSON file."""
    import orjson

    # Before it is parsed, which can take thirty bytes of memory for each byte. Signs in texts count too.
    parts = sum(map(content.count, (b"[", b"{", b",")))
    if parts > MOST_JSON_PARTS:
        raise Refused(f"it has about {parts} values; no vocabulary has more than {MOST_JSON_PARTS}")
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise Refused(f"it is not JSON: {error}") from None


def member(content: object, name: str, kind: type) -> Any:
    """Return a member of a JSON object, which must have this type."""
    found = content.get(name) if isinstance(content, dict) else None
    if not isinstance(found, kind):
        raise Refused(f"it has no {name!r}, or of another type")
    return found


class SourceFormat(Protocol):
    """A file format of vocabularies."""

    # In words, for `tokcap tokenizer show`.
    description: str

    def recognizes(self, file: SourceFile) -> bool:
        """Return whether a file has this format. Look at its beginning only."""
        ...

    def read(self, file: SourceFile, pre_split: str) -> Published:
        """Return the vocabulary of a file; raise `Refused` if it cannot be compiled exactly.

        `pre_split` is what the user says about it; empty: the file says it.
        """
        ...
