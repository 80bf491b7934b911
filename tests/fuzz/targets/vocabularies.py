"""Tokens are those of tiktoken and of `tokenizers`; files of vocabularies are compiled or refused."""

from __future__ import annotations

import base64
import functools
import json
import os
import tempfile

from tests.fuzz.target import Input, target
from tests.support.toy_models import toy
from tokcap.environment import Environment
from tokcap.errors import TokenizerRefused
from tokcap.tokens import added, adding, open_tokenizer
from tokcap.tokens.pre_splits import TEKKEN

TABLE = b"".join(b"%b %d\n" % (base64.b64encode(bytes((byte,))), byte) for byte in range(256)) + b"dGg= 256\n"
TEKKEN_FILE = {"config": {"pattern": TEKKEN, "default_vocab_size": 3, "default_num_special_tokens": 1}}
FILES = [
    json.dumps(toy()).encode(),
    json.dumps(
        {**toy([("a", "b"), ("ab", "ab")], ignore_merges=True), "normalizer": {"type": "NFC"}}
    ).encode(),
    json.dumps(
        {**TEKKEN_FILE, "vocab": [{"rank": 0, "token_bytes": "AA=="}, {"rank": 1, "token_bytes": "AQ=="}]}
    ).encode(),
    TABLE,
]


@functools.cache
def place() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="tokcap-fuzz-")


def compiled(content: bytes, pre_split: str = ""):
    """Compile a file; None if it is refused."""
    path = os.path.join(place().name, "source")
    with open(path, "wb") as file:
        file.write(content)
    env = Environment({"TOKCAP_DATA_DIR": place().name})
    if "fuzzed" in added.names(env):
        adding.remove("fuzzed", env)
    try:
        adding.add("fuzzed", path, env, pre_split)
    except TokenizerRefused:
        return None
    return open_tokenizer("fuzzed", env)


@target(FILES, examples=15)
def file_of_a_vocabulary(given: Input) -> None:
    tokenizer = compiled(given.payload, given.pick(0, ("", "gpt2", "[a-z]")))
    if tokenizer is not None:
        text = "the others, 12 ab abab é\n"
        assert sum(tokenizer.token_lengths(text)) == len(text.encode())
