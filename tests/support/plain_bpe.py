"""Byte-pair encoding as it is defined, for small models in the form of a tokenizer.json.

It is slow and short, and knows only the parts that `toy_models` uses. The nightly tests compare it with the
package `tokenizers`.
"""

from __future__ import annotations

import itertools
import unicodedata

import regex

from tests.support.toy_models import written

BLANK = "\u2581"


def plain_lengths(model: dict, text: str) -> list[int]:
    """Return the bytes of each token. The first one may have a blank that is not in the text."""
    bpe = model["model"]
    ranks = {tuple(pair): rank for rank, pair in enumerate(bpe["merges"])}
    of_characters = bpe.get("byte_fallback")
    text = normalized(model, text)
    lengths = []
    for piece in [text] if of_characters else pieces_of(model, text):
        symbols = characters_of(piece, bpe["vocab"]) if of_characters else [*written(piece.encode())]
        if bpe.get("ignore_merges") and "".join(symbols) in bpe["vocab"]:
            symbols = ["".join(symbols)]
        for token in merged(symbols, ranks):
            name_of_byte = of_characters and len(token) == 6 and token.startswith("<0x")
            as_text = token.replace(BLANK, " ").encode() if of_characters else token
            lengths.append(1 if name_of_byte else len(as_text))
    return lengths


def normalized(model: dict, text: str) -> str:
    normalizer = model["normalizer"] or {"type": "Sequence", "normalizers": []}
    for part in normalizer.get("normalizers", [normalizer]):
        if part["type"] == "NFC":
            text = unicodedata.normalize("NFC", text)
        elif part["type"] == "Prepend":
            text = part["prepend"] + text if text else text
        else:
            assert part["type"] == "Replace"
            text = text.replace(part["pattern"]["String"], part["content"])
    if (model["pre_tokenizer"] or {}).get("type") == "Metaspace":
        text = text.replace(" ", BLANK)
        text = BLANK + text if text and text[0] != BLANK else text
    return text


def pieces_of(model: dict, text: str) -> list[str]:
    pieces = [text]
    for part in model["pre_tokenizer"]["pretokenizers"]:
        if part["type"] == "Split":
            pattern = part["pattern"]["Regex"]
            pieces = [inner for piece in pieces for inner in isolated(pattern, piece)]
    return pieces


def isolated(pattern: str, text: str) -> list[str]:
    """Return the matches, and what is between them."""
    return [part for part in regex.split(f"({pattern})", text) if part]


def characters_of(text: str, vocabulary: dict) -> list[str]:
    """Return the characters that are tokens, and the names of the bytes of all others."""
    return [
        symbol
        for character in text
        for symbol in (
            [character]
            if character in vocabulary
            else [f"<0x{byte:02X}>" for byte in character.encode("utf-8", "surrogatepass")]
        )
    ]


def merged(symbols: list[str], ranks: dict[tuple[str, str], int]) -> list[str]:
    """Merge the pair of the lowest rank, the leftmost one first, until no pair has a rank."""
    while len(symbols) > 1:
        pairs = [ranks.get(pair, len(ranks)) for pair in itertools.pairwise(symbols)]
        at = pairs.index(min(pairs))
        if pairs[at] == len(ranks):
            break
        symbols = [*symbols[:at], symbols[at] + symbols[at + 1], *symbols[at + 2 :]]
    return symbols
