"""The parts of a `tokenizer.json` whose tokens are characters, with bytes as a fallback (SentencePiece)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokcap.tokens.sentencepiece import WRITTEN_BLANK
from tokcap.tokens.sources.base import MOST_TOKENS, NEVER_IN_TEXT, NotExact, Published, Refused, member
from tokcap.tokens.sources.merges import merges_of
from tokcap.tokens.sources.parts import parts_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

# The tokens of bytes.
BYTE_NAMES = {f"<0x{byte:02X}>": byte for byte in range(0x100)}
BLANK_REPLACED = {"type": "Replace", "pattern": {"String": " "}, "content": WRITTEN_BLANK}
BLANK_BEFORE = {"type": "Prepend", "prepend": WRITTEN_BLANK}
# After normalization there are no blanks, so this splits nothing.
SPLIT_AT_BLANKS = {
    "type": "Split",
    "pattern": {"String": " "},
    "behavior": "MergedWithPrevious",
    "invert": False,
}
# When `Metaspace` puts a blank before a text. It does not if there is one.
PREPEND_SCHEMES = {"first": "unless blank", "always": "unless blank", "never": "none"}


def character_bpe(content: Mapping[str, Any], model: Mapping[str, Any]) -> Published:
    """Return a vocabulary whose model has `byte_fallback`."""
    vocabulary = member(model, "vocab", dict)
    if len(vocabulary) > MOST_TOKENS:
        raise Refused(f"it has {len(vocabulary)} tokens; no vocabulary has more than {MOST_TOKENS}")
    check_bytes(vocabulary)
    prefix = prefix_of(content)
    tokens = tokens_of(vocabulary)
    return Published(
        tokens=frozenset(tokens.values()),
        merges=merges_of(model, tokens, may_miss=True),
        ranks=None,
        whole_pieces_first=model.get("ignore_merges") is True,
        pre_split="sentencepiece",
        normalizer="none",
        encoder="sentencepiece",
        prefix=prefix,
    )


def check_bytes(vocabulary: Container[str]) -> None:
    """Refuse a vocabulary without a token for a byte that a character can become."""
    for name, byte in BYTE_NAMES.items():
        is_character = byte < 0x80 and chr(byte) in vocabulary
        if name not in vocabulary and byte not in NEVER_IN_TEXT and not is_character:
            raise Refused(f"it has no token for the byte {byte:#04x}")


def prefix_of(content: Mapping[str, Any]) -> str:
    """Return when a text gets a blank before it; `Refused` if more is done with the text."""
    normalizers = list(parts_of(content.get("normalizer"), "normalizers"))
    splits = [
        part for part in parts_of(content.get("pre_tokenizer"), "pretokenizers") if part != SPLIT_AT_BLANKS
    ]
    if not splits and normalizers == [BLANK_REPLACED]:
        return "none"
    if not splits and normalizers == [BLANK_BEFORE, BLANK_REPLACED]:
        return "always"
    if not normalizers and len(splits) == 1 and splits[0].get("type") == "Metaspace":
        return prefix_of_metaspace(splits[0])
    found = [str(part.get("type")) for part in (*normalizers, *splits)]
    raise NotExact(f"it changes texts in a way that cannot be compiled ({', '.join(found) or 'not at all'})")


def prefix_of_metaspace(part: Mapping[str, Any]) -> str:
    """Return the same for `Metaspace`, which replaces blanks too."""
    scheme = part.get("prepend_scheme", "always")
    if part.get("replacement") != WRITTEN_BLANK or part.get("split", True) or scheme not in PREPEND_SCHEMES:
        raise NotExact("it splits texts at every blank, which cannot be compiled")
    return PREPEND_SCHEMES[scheme]


def tokens_of(vocabulary: Iterable[str]) -> dict[str, bytes]:
    """Return the bytes of each token that text can have. In a text, a written blank is a blank."""
    return {
        written: written.replace(WRITTEN_BLANK, " ").encode("utf-8", "replace")
        for written in vocabulary
        if " " not in written and written not in BYTE_NAMES
    }
