"""Tokens are those of tiktoken: with the encoder for small texts, and in any division into chunks."""

from __future__ import annotations

import unicodedata

import pytest

from tests.fuzz.target import Input, target
from tests.support import corpus
from tests.support.reference import ENCODINGS, reference
from tokcap.tokens import bpe, chunks, count_bytes, embedded, native_text, repeated_text, small_text
from tokcap.tokens.chunks import as_text, split
from tokcap.tokens.repeated_text import RepeatedTextCounter

TEXTS = [*corpus.TRICKY_TEXT, *corpus.case_inputs(), *corpus.sources()]

SMALL_TEXT = {name: small_text.SmallTextEncoder(name) for name in ENCODINGS}
# None if tokcap was built without a C compiler.
COMPILED = {name: native_text.native_encoder(name) for name in ENCODINGS}
# Loaded at once: what is to be tested is tiktoken in parts, not the encoder for small texts.
LOADED = {name: embedded.EmbeddedTokenizer(name) for name in ENCODINGS}


@target(TEXTS, examples=25)
def small_text_encoder(given: Input) -> None:
    name = given.pick(0, ENCODINGS)
    # Long pieces have a merging of their own.
    text = as_text(given.payload * given.pick(1, (1, 1, 1, 2, 9)))[:20_000]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(embedded.ALLOWANCE, name, 1 << 62)
        found = SMALL_TEXT[name].token_lengths(text)
        compiled = COMPILED[name] and COMPILED[name].token_lengths(text)
    if found is None:
        assert any(unicodedata.category(character) in ("Cn", "Cs") for character in text)
        assert compiled is None
        return
    encoding = reference(name)
    assert list(found) == [*map(len, encoding.decode_tokens_bytes(encoding.encode_ordinary(text)))]
    # Long pieces are declined.
    assert compiled is None or compiled == found


@target(TEXTS, examples=25)
def counting_in_chunks(given: Input) -> None:
    name = given.pick(0, ENCODINGS)
    data = given.payload * given.pick(1, (1, 1, 3, 40))
    data = data[:60_000]
    expected = len(reference(name).encode_ordinary(as_text(data)))
    tokenizer = LOADED[name]
    tokenizer.prepare()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "CHUNK_BYTES", given.pick(2, (8, 1, 60, 1 << 14)))
        patch.setattr(chunks, "FIRST_CHUNK_BYTES", given.pick(3, (8, 1, 60, 1 << 12)))
        patch.setattr(chunks, "LONG_STRETCH_BYTES", given.pick(4, (6000, 20_000, 1 << 18)))
        # In the proportions that the real ones have: no token is longer than 128 bytes.
        patch.setattr(bpe, "PLAIN_CHARACTERS", given.pick(5, (1 << 17, 100)))
        patch.setattr(bpe, "PART_BYTES", 2048)
        patch.setattr(bpe, "UNSURE_TOKENS", 8)
        assert count_bytes(data, tokenizer) == expected
        pieces = list(split(given.blocks(6, data), tokenizer))
    assert b"".join(pieces) == data
    assert sum(len(reference(name).encode_ordinary(as_text(piece))) for piece in pieces) == expected


@target(TEXTS, examples=25)
def counting_repeated_text(given: Input) -> None:
    name = given.pick(0, ENCODINGS)
    # Records that differ in a few bytes, and in the digits among them.
    times = given.pick(1, (40, 3, 200))
    text = as_text(given.payload)[:600]
    records = [
        text.replace("1", str(number)) + given.pick(2, ("\n", ",", " ", "é")) for number in range(times)
    ]
    data = "".join(records).encode()[:60_000]
    counter = RepeatedTextCounter(LOADED[name].count, same_digits=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repeated_text, "SAMPLE_BYTES", given.pick(3, (64, 1024)))
        patch.setattr(repeated_text, "LEAST_SAVED", given.pick(4, (0.0, 0.3)))
        patch.setattr(repeated_text, "MOST_REMEMBERED_BYTES", given.pick(5, (1 << 20, 200)))
        patch.setattr(repeated_text, "FIRST_PAUSE", 2)
        patch.setattr(chunks, "CHUNK_BYTES", given.pick(6, (200, 1 << 12)))
        pieces = list(split([data], LOADED[name]))
        found = [counter.count(piece) for piece in pieces]
    assert found == [len(reference(name).encode_ordinary(as_text(piece))) for piece in pieces]
