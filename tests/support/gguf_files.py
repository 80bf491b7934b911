"""Write GGUF files: a header, and keys with values. Models have tensors after that."""

from __future__ import annotations

import struct

STRING, ARRAY, BOOL, INT32, UINT32, FLOAT32 = 8, 9, 7, 5, 4, 6
KINDS = {str: STRING, bool: BOOL, int: INT32, float: FLOAT32}
FORMS = {BOOL: "<?", INT32: "<i", FLOAT32: "<f"}


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def packed(value: object, kind: int) -> bytes:
    return text(value) if kind == STRING else struct.pack(FORMS[kind], value)


def typed(value: object) -> bytes:
    if isinstance(value, list):
        kind = KINDS[type(value[0])]
        items = b"".join(packed(item, kind) for item in value)
        return struct.pack("<IIQ", ARRAY, kind, len(value)) + items
    kind = KINDS[type(value)]
    return struct.pack("<I", kind) + packed(value, kind)


def gguf_file(values: dict[str, object], *, after: bytes = b"", version: int = 3) -> bytes:
    """Return the content of a file with these keys, and `after` in the place of the tensors."""
    keys = {"general.architecture": "toy", "toy.block_count": 2, **values}
    body = b"".join(text(key) + typed(value) for key, value in keys.items())
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(keys)) + body + after


def of_tokenizer_json(model: dict, pre: str) -> dict[str, object]:
    """Return the keys of a model with the vocabulary of a byte-level tokenizer.json."""
    vocabulary = [*model["model"]["vocab"]]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": vocabulary,
        "tokenizer.ggml.token_type": [1] * len(vocabulary),
        "tokenizer.ggml.merges": [" ".join(merge) for merge in model["model"]["merges"]],
    }


def of_characters(model: dict, *, prefix: bool) -> dict[str, object]:
    """Return the keys of a model with the vocabulary of a tokenizer.json of characters: scores, no merges."""
    vocabulary = [*model["model"]["vocab"]]
    made = ["".join(merge) for merge in model["model"]["merges"]]
    scores = [-float(made.index(token)) if token in made else 0.0 for token in vocabulary]
    bytes_of = {f"<0x{byte:02X}>" for byte in range(256)}
    types = [6 if token in bytes_of else 2 if token == "<unk>" else 1 for token in vocabulary]
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": vocabulary,
        "tokenizer.ggml.scores": scores,
        "tokenizer.ggml.token_type": types,
        "tokenizer.ggml.add_space_prefix": prefix,
    }
