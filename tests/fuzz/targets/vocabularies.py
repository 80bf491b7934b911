"""Files of vocabularies are compiled or refused, and what is compiled has the tokens of `tokenizers`."""

from __future__ import annotations

import base64
import functools
import json
import os
import tempfile
import unicodedata
from typing import TYPE_CHECKING, NoReturn

from tests.fuzz.target import Input, target
from tests.support import corpus
from tokcap.environment import Environment
from tokcap.errors import TokenizerRefused
from tokcap.tokens import added, adding, nfc, open_tokenizer
from tokcap.tokens.chunks import as_text
from tokcap.tokens.pre_split import PRE_SPLIT
from tokcap.tokens.sources.huggingface import byte_of_character

if TYPE_CHECKING:
    from tokcap.core.tokenizer import Tokenizer

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
CHARACTERS = sorted(byte_of_character(), key=byte_of_character().__getitem__)


def model_of(merges, **more) -> dict:
    """Return a tokenizer.json with all bytes, and with tokens for these merges."""
    tokens = [
        *CHARACTERS,
        *(left + right for left, right in merges),
        *(part for pair in merges for part in pair),
    ]
    split = {
        "type": "Split",
        "pattern": {"Regex": PRE_SPLIT["qwen2"]},
        "behavior": "Isolated",
        "invert": False,
    }
    return {
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, BYTE_LEVEL]},
        "model": {
            "type": "BPE",
            "vocab": {token: number for number, token in enumerate(dict.fromkeys(tokens))},
            "merges": [list(pair) for pair in merges],
            **more,
        },
    }


TABLE = b"".join(b"%b %d\n" % (base64.b64encode(bytes((byte,))), byte) for byte in range(256)) + b"dGg= 256\n"
TEKKEN = {
    "config": {"pattern": PRE_SPLIT["tekken"], "default_vocab_size": 3, "default_num_special_tokens": 1}
}
FILES = [
    json.dumps(model_of([("t", "h"), ("th", "e")])).encode(),
    json.dumps(model_of([("a", "b"), ("ab", "ab")], ignore_merges=True)).encode(),
    json.dumps(
        {**TEKKEN, "vocab": [{"rank": 0, "token_bytes": "AA=="}, {"rank": 1, "token_bytes": "AQ=="}]}
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


@target([b"abababba", b"aabbaabb" * 2, b"\x00\x01\x02\x03"], examples=15, package="tokenizers")
def merges_in_any_order(given: Input) -> None:
    """Merges over two letters, whose parts may be made later or never."""
    from tests.support import published

    parts = ["a", "b", "ab", "ba", "aa", "bb", "aba", "bab"]
    pairs = [(parts[byte & 7], parts[byte >> 3 & 7]) for byte in given.payload[:12]]
    model = model_of(list(dict.fromkeys(pairs)), ignore_merges=given.pick(0, (False, True)))
    tokenizer = compiled(json.dumps(model).encode())
    if tokenizer is None:
        # There is nothing to merge, or a token is found whole whose last two parts are not merged.
        assert not pairs or model["model"]["ignore_merges"]
        return
    text = "".join("ab"[byte >> 6 & 1] for byte in given.payload)[:40]
    assert list(tokenizer.token_lengths(text)) == published.lengths_by(published.reference_from(model), text)


class TiktokenNeeded(Exception):
    """The encoder for small texts cannot count a text."""


@functools.cache
def both_ways(name: str) -> tuple[Tokenizer, Tokenizer]:
    """Return a tokenizer that counts every text with tiktoken, and one that never does."""
    from tests.support import published

    by_tiktoken, by_small_text = (published.opened_again(name) for _ in range(2))
    by_tiktoken.prepare()
    plain = by_small_text.continued or by_small_text
    plain.described = plain.described.but(tokens=1 << 40)

    def refuse() -> NoReturn:
        raise TiktokenNeeded

    plain._load_byte_pair = refuse
    return by_tiktoken, by_small_text


@target([*corpus.TRICKY_TEXT, *corpus.case_inputs()], package="tokenizers")
def published_vocabulary(given: Input) -> None:
    """Needs `TOKCAP_TESTS_VOCABULARIES`; without it nothing is compared."""
    from tests.support import published

    if not published.PLACE:
        return
    name = given.pick(0, published.NAMES)
    text = as_text(given.payload * given.pick(1, (1, 1, 3)))[:20_000]
    expected = published.lengths_by(published.reference(name), text)
    for tokenizer in both_ways(name):
        try:
            lengths = list(tokenizer.token_lengths(text))
        except TiktokenNeeded:
            assert any(unicodedata.category(character) in ("Cn", "Cs") for character in nfc.normalized(text))
            continue
        assert len(lengths) == len(expected) == tokenizer.count(text)
        own = lengths
        if tokenizer.prefix_tokens and own:
            # The blank before the text.
            own = [lengths[0] + 1, *lengths[1:]]
        if text == nfc.normalized(text) and "\u2581" not in text:
            assert own == expected
