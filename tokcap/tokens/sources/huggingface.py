"""`tokenizer.json` of Hugging Face: byte-pair encoding over bytes, which are written as visible characters.

Where the model has a fallback to bytes, `character_bpe` reads it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from tokcap.tokens.sources.base import MOST_TOKENS, NotExact, Published, Refused, from_json, member
from tokcap.tokens.sources.character_bpe import character_bpe
from tokcap.tokens.sources.merges import merges_of
from tokcap.tokens.sources.parts import parts_of
from tokcap.tokens.sources.split_names import DIGIT, GPT2, name_of_splits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tokcap.tokens.sources.source_file import SourceFile

# Normalizers that change nothing that reaches the model, and those that tokcap has.
NORMALIZERS = {"NFC": "nfc"}
# Parts of a model that must be absent: they would change tokens.
ABSENT = ("dropout", "continuing_subword_prefix", "end_of_word_suffix")


class HuggingFaceFormat:
    """A JSON object with a `model`."""

    description = "tokenizer.json of Hugging Face"

    def recognizes(self, file: SourceFile) -> bool:
        return file.beginning.lstrip()[:1] == b"{"

    def read(self, file: SourceFile, pre_split: str) -> Published:
        if pre_split:
            raise Refused("it has its own pre-split; leave out --pre-split")
        content = from_json(file.content)
        model = member(content, "model", dict)
        kind = model.get("type", "BPE" if "merges" in model else "unknown")
        if kind != "BPE":
            raise NotExact(f"its model is {kind!r}, and only byte-pair encoding (BPE) can be compiled")
        for part in ABSENT:
            if model.get(part):
                raise NotExact(f"its model has {part}")
        if model.get("byte_fallback"):
            # Every character has a token or bytes, so the token for unknown ones is never used.
            return character_bpe(content, model)
        if model.get("unk_token"):
            raise NotExact("its model has unk_token")
        name = name_of_splits(splits_of(content.get("pre_tokenizer")))
        tokens = tokens_of(model)
        return Published(
            tokens=frozenset(tokens.values()),
            merges=merges_of(model, tokens),
            ranks=None,
            whole_pieces_first=model.get("ignore_merges") is True,
            pre_split=name,
            normalizer=normalizer_of(content.get("normalizer")),
        )


def normalizer_of(part: object) -> str:
    """Return the name of a normalizer."""
    found = [inner.get("type") for inner in parts_of(part, "normalizers")]
    if not found:
        return "none"
    if len(found) > 1 or found[0] not in NORMALIZERS:
        raise NotExact(f"its normalizer is {', '.join(map(str, found))}, and only NFC can be compiled")
    return NORMALIZERS[str(found[0])]


def splits_of(part: object) -> Sequence[str]:
    """Return the patterns that divide the text, one after the other."""
    patterns: list[str] = []
    is_byte_level = False
    for inner in parts_of(part, "pretokenizers"):
        kind = inner.get("type")
        if kind == "Split":
            patterns.append(pattern_of(inner))
        elif kind == "ByteLevel":
            if inner.get("add_prefix_space"):
                raise NotExact("it puts a space before every text")
            if inner.get("use_regex", True):
                patterns.append(GPT2)
            is_byte_level = True
        elif kind == "Digits" and inner.get("individual_digits") is True:
            patterns.append(DIGIT)
        else:
            raise NotExact(f"its pre-tokenizer has the part {kind!r}, which cannot be compiled")
    if not is_byte_level:
        raise NotExact("its tokens are characters, and only tokens that are bytes can be compiled")
    return patterns


def pattern_of(split: Mapping[str, Any]) -> str:
    """Return the pattern of a split whose matches become pieces."""
    pattern = member(split, "pattern", dict).get("Regex")
    behavior = (split.get("behavior"), bool(split.get("invert")))
    # Either what is between matches becomes a piece too, or it is dropped; there is nothing between them.
    if not isinstance(pattern, str) or behavior not in (("Isolated", False), ("Removed", True)):
        raise NotExact(f"it splits in a way that cannot be compiled ({behavior[0]})")
    return pattern


@cache
def byte_of_character() -> Mapping[str, int]:
    """Return the byte that each visible character stands for: a space is written as `Ġ`."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in visible]
    found = {chr(byte): byte for byte in visible}
    return found | {chr(0x100 + place): byte for place, byte in enumerate(others)}


def tokens_of(model: Mapping[str, Any]) -> Mapping[str, bytes]:
    """Return the bytes of each token. A token with other characters never occurs in text: it is special."""
    vocabulary = member(model, "vocab", dict)
    if len(vocabulary) > MOST_TOKENS:
        raise Refused(f"it has {len(vocabulary)} tokens; no vocabulary has more than {MOST_TOKENS}")
    return bytes_of_tokens(vocabulary)


def bytes_of_tokens(vocabulary: Iterable[str]) -> Mapping[str, bytes]:
    """Return the bytes of those tokens whose characters all stand for bytes."""
    byte_of = byte_of_character().__getitem__
    found = {}
    for written in vocabulary:
        try:
            found[written] = bytes(map(byte_of, written))
        except KeyError:
            continue
    return found


FORMAT = HuggingFaceFormat()
