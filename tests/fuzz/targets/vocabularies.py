"""Tokens are those of tiktoken and of `tokenizers`; files of vocabularies are compiled or refused."""

from __future__ import annotations

import base64
import functools
import json
import os
import tempfile

from tests.fuzz.target import Input, target
from tests.support import corpus
from tests.support.reference import ENCODINGS, reference
from tests.support.toy_models import toy
from tokcap.environment import Environment
from tokcap.errors import TokenizerRefused
from tokcap.tokens import added, adding, open_tokenizer
from tokcap.tokens.chunks import as_text
from tokcap.tokens.embedded import EmbeddedTokenizer
from tokcap.tokens.normalization import NORMALIZATIONS
from tokcap.tokens.pre_splits import TEKKEN


@target([*corpus.TRICKY_TEXT, *corpus.case_inputs(), *corpus.sources()], examples=25)
def compiled_code(given: Input) -> None:
    name = given.pick(0, ENCODINGS)
    # Long pieces have a merging of their own.
    text = as_text(given.payload * given.pick(1, (1, 1, 1, 2, 9)))[:20_000]
    encoding = reference(name)
    expected = [*map(len, encoding.decode_tokens_bytes(encoding.encode_ordinary(text)))]
    assert list(EmbeddedTokenizer(name).token_lengths(text)) == expected


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


@target([*corpus.TRICKY_TEXT, *corpus.case_inputs()], package="tokenizers")
def published_vocabulary(given: Input) -> None:
    """Needs `TOKCAP_TESTS_VOCABULARIES`; without it nothing is compared."""
    from tests.support import published

    if not published.PLACE:
        return
    name = given.pick(0, published.NAMES)
    text = as_text(given.payload * given.pick(1, (1, 1, 3)))[:20_000]
    expected = published.lengths_by(published.reference(name), text)
    tokenizer = published.opened(name)
    lengths = list(tokenizer.token_lengths(text))
    assert len(lengths) == len(expected) == tokenizer.count(text)
    if tokenizer.prefix_tokens and lengths:
        # The blank before the text.
        lengths = [lengths[0] + 1, *lengths[1:]]
    if text == NORMALIZATIONS["nfc"].of(text) and "\u2581" not in text:
        assert lengths == expected
