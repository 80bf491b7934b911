"""A token far ahead is found exactly, and text that repeats is counted once."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.payloads import TOKENIZERS, payload_of
from tests.support.reference import ENCODINGS, reference
from tests.support.texts import AWKWARD
from tests.support.tiers import examples, nightly
from tokcap.tokens import chunks, gigatoken_counter, index, parallel, repeated_text
from tokcap.tokens.chunks import as_text, split
from tokcap.tokens.embedded import EmbeddedTokenizer
from tokcap.tokens.far_counter import FarCounter
from tokcap.tokens.index import Index
from tokcap.tokens.repeated_text import RepeatedTextCounter, may_be_zeros

RECORD = '{"id":%d,"name":"user number %d","tags":["alpha","t%d"],"score":%d.5,"active":%s},'


def records(number: int) -> bytes:
    return "".join(
        RECORD % (one, one, one % 97, one % 1000, ("true", "false")[one % 3 > 0]) for one in range(number)
    ).encode()


def tokens_of(name: str, data: bytes) -> int:
    return sum(
        len(reference(name).encode_ordinary(as_text(part))) for part in split([data], TOKENIZERS[name])
    )


@pytest.mark.parametrize("name", ENCODINGS)
@examples(25)
@given(
    texts=st.lists(AWKWARD, min_size=1, max_size=4),
    order=st.lists(st.integers(0, 3), min_size=30, max_size=60),
    digits=st.randoms(use_true_random=False),
)
def test_text_that_repeats_counts_as_tiktoken_counts_it(name, texts, order, digits):
    whole = "".join(
        texts[number % len(texts)] + f" x{digits.randrange(5000)}:" + '","' for number in order
    ).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repeated_text, "SAMPLE_BYTES", 256)
        patch.setattr(repeated_text, "LEAST_SAVED", 0.05)
        patch.setattr(chunks, "CHUNK_BYTES", 128)
        counter = RepeatedTextCounter(TOKENIZERS[name].count, same_digits=True)
        pieces = list(split([whole], TOKENIZERS[name]))
        found = [counter.count(piece) for piece in pieces]
    assert found == [len(reference(name).encode_ordinary(as_text(piece))) for piece in pieces]


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_group_of_digits_is_one_token(name):
    """So a digit can be replaced by another one without a change of the count."""
    encode = reference(name).encode_ordinary
    groups = [f"{number:0{size}}" for size in (1, 2, 3) for number in range(10**size)]
    assert all(len(encode(group)) == 1 for group in groups)
    assert TOKENIZERS[name].are_digits_alike()


def test_digits_next_to_other_characters_are_not_replaced():
    """`²` is a number too: the piece `1²` may have other tokens than `0²`."""
    assert may_be_zeros("naïve 12, été 7".encode())
    assert not may_be_zeros("1²".encode())
    assert not may_be_zeros("第5章".encode())


@pytest.mark.parametrize("name", ENCODINGS)
def test_records_are_counted_without_loading_tiktoken(name):
    data, tokenizer = records(20_000), EmbeddedTokenizer(name)
    far = tokens_of(name, data) - 50
    found = Index(payload_of(data), tokenizer)
    byte = found.byte_at(far)
    assert tokenizer._byte_pair is None
    # What is before the token has so many tokens, and the token begins there.
    assert len(reference(name).encode_ordinary(data[byte:].decode())) == 50


def test_other_text_after_the_first_records_is_counted_too():
    rng = random.Random(3)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(30_000)]
    data = records(3000) + " ".join(words).encode() + records(3000) + json.dumps(words).encode()
    found = Index(payload_of(data), EmbeddedTokenizer("cl100k_base"))
    expected = tokens_of("cl100k_base", data)
    assert found.reach(expected + 1) == expected
    assert found.checkpoints.complete


def test_a_far_token_in_text_that_does_not_repeat_is_searched_by_several_processes(monkeypatch):
    rng = random.Random(7)
    text = " ".join("".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(200_000))
    data = text.encode()
    monkeypatch.setattr(gigatoken_counter, "counter_for", lambda _tokenizer: None)
    monkeypatch.setattr(parallel, "available_cores", lambda: 3)
    # The threads of the test runner would forbid it.
    monkeypatch.setattr(parallel, "may_fork", lambda: True)
    monkeypatch.setattr(index, "PARALLEL_PART_BYTES", 100_000)
    divided = []
    real = parallel.count_in_parallel
    monkeypatch.setattr(
        parallel, "count_in_parallel", lambda parts, count: divided.append(parts) or real(parts, count)
    )
    expected = reference("cl100k_base").encode_ordinary(text)
    far = len(expected) * 3 // 4
    byte = Index(payload_of(data), TOKENIZERS["cl100k_base"]).byte_at(far)
    assert data[:byte] == reference("cl100k_base").decode_bytes(expected[:far])
    assert [len(parts) for parts in divided] == [3]


@nightly
def test_the_extra_counts_new_text_if_it_is_installed(monkeypatch):
    pytest.importorskip(
        "gigatoken", reason="the package gigatoken is not installed: pip install '.[nightly]'"
    )
    rng = random.Random(9)
    data = " ".join("".join(rng.choices("etaoinshrdlu", k=8)) for _ in range(60_000)).encode()
    tokenizer = EmbeddedTokenizer("cl100k_base")
    counter = FarCounter(tokenizer)
    monkeypatch.setattr(tokenizer, "count_without_tiktoken", lambda text: None)
    assert sum(map(counter.count, split([data], tokenizer))) == tokens_of("cl100k_base", data)
    assert tokenizer._byte_pair is None
    assert not counter.is_slow
