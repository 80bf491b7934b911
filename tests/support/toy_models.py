"""Small vocabularies in the form of a tokenizer.json: of bytes, and of characters."""

from __future__ import annotations

from tokcap.tokens.pre_splits import PRE_SPLITS
from tokcap.tokens.published import byte_of_character

CHARACTER_OF = {byte: character for character, byte in byte_of_character().items()}


def written(data: bytes) -> str:
    return "".join(map(CHARACTER_OF.__getitem__, data))


def toy(merges=(("t", "h"), ("th", "e")), *, more_tokens=(), split="qwen2", **model) -> dict:
    """A whole tokenizer.json: every byte, and what the merges make."""
    pairs = [(written(left.encode()), written(right.encode())) for left, right in merges]
    tokens = [*map(written, (bytes((byte,)) for byte in range(256)))]
    tokens += [left + right for left, right in pairs] + [written(token.encode()) for token in more_tokens]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    pattern = {
        "type": "Split",
        "pattern": {"Regex": PRE_SPLITS[split].patterns[0]},
        "behavior": "Isolated",
        "invert": False,
    }
    return {
        "version": "1.0",
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [pattern, byte_level]},
        "decoder": None,
        "model": {
            "type": "BPE",
            "vocab": {token: number for number, token in enumerate(dict.fromkeys(tokens))},
            "merges": [list(pair) for pair in pairs],
            **model,
        },
    }


BLANK_REPLACED = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
BLANK_BEFORE = {"type": "Prepend", "prepend": "▁"}
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
MERGES = (
    *(("▁", "▁"), ("▁▁", "▁▁"), ("t", "h"), ("▁", "th"), ("▁th", "e"), ("th", "e"), ("\n", "\n")),
    *(("é", "t"), ("ét", "é"), ("漢", "字"), ("-", "-"), ("--", ">"), ("▁", "é")),
)


def toy_of_characters(
    merges=MERGES, *, normalizers=(BLANK_REPLACED,), pre_tokenizer=None, characters=""
) -> dict:
    """A whole tokenizer.json: some characters, all bytes, and what the merges make."""
    parts = [character for pair in merges for part in pair for character in part]
    tokens = [*(f"<0x{byte:02X}>" for byte in range(256)), "<unk>", *parts, *characters, *"abc,.>1"]
    tokens += [left + right for left, right in merges]
    return {
        "version": "1.0",
        "normalizer": {"type": "Sequence", "normalizers": list(normalizers)} if normalizers else None,
        "pre_tokenizer": pre_tokenizer,
        "decoder": None,
        "model": {
            "type": "BPE",
            "unk_token": "<unk>",
            "fuse_unk": True,
            "byte_fallback": True,
            "vocab": {token: number for number, token in enumerate(dict.fromkeys(tokens))},
            "merges": [list(pair) for pair in merges],
        },
    }
