"""An index maps token positions to byte positions exactly, at any place of a payload."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.payloads import TOKENIZERS, payload_of
from tests.support.reference import ENCODINGS, reference
from tests.support.texts import AWKWARD
from tests.support.tiers import examples
from tokcap.core.mark import words_of
from tokcap.core.tokenizer import WholeTokens
from tokcap.tokens import chunks, open_tokenizer
from tokcap.tokens import index as index_module
from tokcap.tokens.index import Index


def expected_starts(text: str, name: str) -> list[int]:
    """Where tokens begin according to tiktoken; -1 inside a character."""
    data = text.encode()
    starts, at = [], 0
    for token in [*reference(name).decode_tokens_bytes(reference(name).encode_ordinary(text)), b""]:
        whole = at == len(data) or data[at] & 0xC0 != 0x80
        starts.append(at if whole else -1)
        at += len(token)
    return starts


@pytest.mark.parametrize("name", ENCODINGS)
@examples(40)
@given(text=AWKWARD, ends=st.tuples(st.integers(0, 60), st.integers(0, 60)))
def test_starts_are_those_of_tiktoken_for_any_range(name, text, ends):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "CHUNK_BYTES", 8)
        index = Index(payload_of(text.encode()), TOKENIZERS[name])
        expected = expected_starts(text, name)
        assert index.total_tokens == len(expected) - 1
        first, last = sorted(min(end, index.total_tokens) for end in ends)
        assert list(index.starts(first, last)) == expected[first : last + 1]


@pytest.mark.parametrize("name", [*ENCODINGS, "approx"])
@examples(40)
@given(parts=st.lists(st.one_of(AWKWARD.map(str.encode), st.binary(max_size=9)), max_size=6))
def test_bytes_that_are_no_utf8_count_as_their_replacement_and_are_found_again(name, parts):
    data = b"".join(parts)
    text = data.decode("utf-8", "replace")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "CHUNK_BYTES", 8)
        tokenizer = TOKENIZERS.get(name) or open_tokenizer(name)
        index = Index(payload_of(data), tokenizer)
        assert index.total_tokens == tokenizer.count(text)
        assert index.valid_utf8 == (text.encode() == data)
        starts = index.starts(0, index.total_tokens)
        cuts = [start for start in starts if start >= 0]
    assert cuts[0] == 0
    assert cuts[-1] == len(data)
    # Every allowed cut leaves the text on both sides as it was.
    for cut in cuts:
        assert data[:cut].decode("utf-8", "replace") + data[cut:].decode("utf-8", "replace") == text


def test_a_deep_range_encodes_only_what_lies_around_it():
    data = b"".join(b"line %d of many\n" % n for n in range(200_000))
    encoded = []

    class Watched(WholeTokens):
        name = "watched"
        longest_token_bytes = 128

        def count(self, text):
            return TOKENIZERS["cl100k_base"].count(text)

        def token_lengths(self, text):
            encoded.append(len(text))
            return TOKENIZERS["cl100k_base"].token_lengths(text)

        def safe_cut(self, *where):
            return TOKENIZERS["cl100k_base"].safe_cut(*where)

    index = Index(payload_of(data), Watched())
    index.starts(index.total_tokens - 300, index.total_tokens)
    assert sum(encoded) < 3 * chunks.CHUNK_BYTES


def test_the_total_of_a_large_payload_is_an_estimate_and_of_a_small_one_exact(monkeypatch):
    data = b"".join(b"line %d of many\n" % n for n in range(100_000))
    monkeypatch.setattr(index_module, "EXACT_BYTES", len(data))
    exact = Index(payload_of(data), TOKENIZERS["cl100k_base"]).total
    assert exact.exact
    monkeypatch.setattr(index_module, "EXACT_BYTES", 1000)
    index = Index(payload_of(data), TOKENIZERS["cl100k_base"])
    assert not index.total.exact
    assert abs(index.total.tokens - exact.tokens) < exact.tokens / 10
    assert words_of(index.total).startswith("about 6")
    # Once everything is counted, it is exact again.
    assert index.total_tokens == exact.tokens
    assert index.total == exact
