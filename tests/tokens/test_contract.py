"""What every tokenizer and every tokenizer family promises, checked for all of them."""

from __future__ import annotations

import functools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import published
from tests.support.payloads import payload_of
from tests.support.reference import gpt2_tokenizer
from tests.support.texts import AWKWARD
from tests.support.tiers import as_nightly, examples, nightly, some_everyday, times
from tests.support.toy_models import BLANK_BEFORE, BLANK_REPLACED, toy, toy_of_characters
from tests.support.toys.tokenizer import WordTokenizer
from tokcap.core.tokenizer import after_cut, most_tokens, tokens_of
from tokcap.environment import Environment
from tokcap.errors import TokenizerUnavailable
from tokcap.tokens import (
    FAMILIES,
    adding,
    chunks,
    count_bytes,
    examine_tokenizer_name,
    open_index,
    open_tokenizer,
    profiles,
    tokenizer_names,
)
from tokcap.tokens.approx import ByteTokenizer
from tokcap.tokens.normalization import NORMALIZATIONS
from tokcap.tokens.plugins import PluginTokenizer

# Profiles differ in their numbers only, so one is enough.
ALIKE = tuple(profiles.SHIPPED)[1:]
# One of each kind. The names that the table suggests are added, so that a new family is tested here too.
KINDS = {
    **{name: functools.partial(open_tokenizer, name) for name in tokenizer_names() if name not in ALIKE},
    "cl100k_base by tiktoken": lambda: open_tokenizer("cl100k_base").byte_pair,
    "loaded by tiktoken": gpt2_tokenizer,
    "plug-in": lambda: PluginTokenizer("words", WordTokenizer()),
    "toy": WordTokenizer,
    "bytes": ByteTokenizer,
}


# Vocabularies that a user adds: bytes, normalized text, characters, and a blank before every text.
TOYS = {
    "added, of bytes": toy((("t", "h"), (" ", "th"), ("\n", "\n"), ("1", "2"))),
    "added, normalized": {**toy(), "normalizer": {"type": "NFC"}},
    "added, of characters": toy_of_characters(),
    "added, with a blank": toy_of_characters(normalizers=(BLANK_BEFORE, BLANK_REPLACED)),
}
# Where vocabularies of models have been fetched, the nightly tests test them too.
ADDED = {f"{name} (added)": functools.partial(published.opened, name) for name in published.IN_CONTRACT}


@pytest.fixture(scope="module")
def tokenizer_of(tmp_path_factory):
    """Open a tokenizer of each kind, once."""

    @functools.cache
    def opened(kind: str):
        if kind not in TOYS:
            return (KINDS | ADDED)[kind]()
        place = tmp_path_factory.mktemp("toy")
        (place / "tokenizer.json").write_text(json.dumps(TOYS[kind]))
        env = Environment({"TOKCAP_DATA_DIR": str(place / "data")})
        adding.add("one", str(place / "tokenizer.json"), env)
        return open_tokenizer("one", env)

    return opened


nfc = NORMALIZATIONS["nfc"].of


def lengths_of(tokenizer, data: bytes) -> list[int]:
    return list(tokenizer.token_lengths(chunks.as_text(data)))


def units_of(tokenizer, data: bytes) -> int:
    return tokenizer.units(chunks.as_text(data))


def assert_safe(tokenizer, left: bytes, right: bytes, whole: bytes) -> None:
    """Two texts that are counted separately and joined have the tokens of the whole."""
    after = after_cut(tokenizer)
    assert units_of(tokenizer, left) + units_of(after, right) == units_of(tokenizer, whole)
    if tokenizer.units_per_token == 1:
        assert lengths_of(tokenizer, left) + lengths_of(after, right) == lengths_of(tokenizer, whole)


every_kind = pytest.mark.parametrize(
    "kind", [*KINDS, *TOYS, *(pytest.param(kind, marks=[published.needed, nightly]) for kind in ADDED)]
)
ANY_BYTES = st.lists(
    st.one_of(AWKWARD.map(str.encode), st.binary(max_size=6), st.just(b"some words again\n")), max_size=6
).map(b"".join)


@every_kind
@examples(25)
@given(text=AWKWARD)
def test_lengths_add_up_to_the_text_and_there_are_as_many_as_tokens(tokenizer_of, kind, text):
    tokenizer = tokenizer_of(kind)
    lengths = lengths_of(tokenizer, text.encode())
    assert len(lengths) == tokenizer.count(text)
    assert sum(lengths) == len(text.encode())
    # A text that is normalized can have more tokens than bytes, and an estimate too.
    is_whole = tokenizer.units_per_token == 1 and text == nfc(text)
    shortest = 1 if tokenizer.most_tokens_per_byte == 1 or is_whole else 0
    assert all(length <= tokenizer.longest_token_bytes for length in lengths)
    assert all(shortest <= length for length in lengths[tokenizer.prefix_tokens :])
    assert len(lengths) <= most_tokens(text.encode(), tokenizer)


@every_kind
@examples(40)
@given(data=ANY_BYTES, after=ANY_BYTES, begin=st.integers(0, 20), ahead=st.integers(0, 20))
def test_a_safe_cut_is_safe_whatever_follows(tokenizer_of, kind, data, after, begin, ahead):
    tokenizer = tokenizer_of(kind)
    # Chunks begin at a safe cut themselves, or at the start.
    begin = (tokenizer.safe_cut(bytearray(data), 0, min(begin, len(data))) or 0) if begin else 0
    cut = tokenizer.safe_cut(bytearray(data), begin, min(begin + ahead, len(data)))
    if cut is None:
        return
    assert begin + ahead < cut <= len(data)
    whole = data[begin:] + after
    tokenizer = after_cut(tokenizer) if begin else tokenizer
    assert_safe(tokenizer, data[begin:cut], data[cut:] + after, whole)


@every_kind
@pytest.mark.parametrize("piece", some_everyday(["a", " ", "=", "1", "漢字", "ab'cd", ". "], 3))
def test_a_safe_cut_that_was_searched_for_is_safe(tokenizer_of, kind, piece):
    tokenizer = tokenizer_of(kind)
    data = (piece * (1 << 17)).encode()[: 1 << (18 if times() > 1 else 16)]
    if cut := tokenizer.find_safe_cut(data):
        assert 0 < cut < len(data)
        assert_safe(tokenizer, data[:cut], data[cut:], data)


@every_kind
@examples(25)
@given(data=ANY_BYTES, size=st.integers(1, 9))
def test_the_count_does_not_depend_on_the_chunks(tokenizer_of, kind, data, size):
    tokenizer = tokenizer_of(kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "CHUNK_BYTES", 4)
        patch.setattr(chunks, "FIRST_CHUNK_BYTES", 4)
        blocks = [data[start : start + size] for start in range(0, len(data), size)]
        pieces = list(chunks.split(blocks, tokenizer))
        assert b"".join(pieces) == data
        expected = tokenizer.count(chunks.as_text(data))
        units = [
            units_of(after_cut(tokenizer) if number else tokenizer, piece)
            for number, piece in enumerate(pieces)
        ]
        assert tokens_of(sum(units), tokenizer) == expected
        assert count_bytes(data, tokenizer) == expected


@every_kind
@examples(25)
@given(text=AWKWARD)
def test_an_index_finds_every_token_again(tokenizer_of, kind, text):
    tokenizer = tokenizer_of(kind)
    if tokenizer.units_per_token > 1:
        # `test_profiles` has the laws of estimates, of which several can begin at the same byte.
        return
    if tokenizer.most_tokens_per_byte > 1:
        # Otherwise several tokens can begin at the same byte.
        text = nfc(text)
    data = text.encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "CHUNK_BYTES", 8)
        patch.setattr(chunks, "FIRST_CHUNK_BYTES", 8)
        index = open_index(payload_of(data), tokenizer)
        total = index.total_tokens
        assert total == tokenizer.count(text)
        bytes_at = [index.byte_at(token) for token in range(total + 1)]
        assert (bytes_at[0], bytes_at[-1]) == (0, len(data))
        # The first token may be a blank that is put before the text.
        without_bytes = bytes_at[:2] == [0, 0]
        assert without_bytes <= tokenizer.prefix_tokens
        assert bytes_at[without_bytes:] == sorted(set(bytes_at))
        tokens = [0, *range(2, total + 1)] if without_bytes else range(total + 1)
        assert [index.token_at(byte) for byte in sorted(set(bytes_at))] == [*tokens]
        starts = index.starts(0, total)
        assert all(start in (-1, byte) for start, byte in zip(starts, bytes_at, strict=True))
        places = [byte for byte in bytes_at if byte == len(data) or data[byte] & 0xC0 != 0x80]
        assert list(index.positions(places)) == [(bytes_at.index(byte), True) for byte in places]
        last = index.last(3, 0)
        assert list(last.starts) == list(starts[max(total - 3, 0) :])


TEXT = "A line of words, with numbers 123456 and größe 漢字仮名.\n  indented: {'a': 1}\n\n" * 60


@pytest.fixture
def toy_family():
    """Registers the toy family in the table, as another package could do."""
    FAMILIES.add("toy", "tests.support.toys.tokenizer:FAMILY")
    yield
    FAMILIES.remove("toy")


@pytest.mark.parametrize("name", [*(name for name in tokenizer_names() if name not in ALIKE), "toy-words"])
@pytest.mark.parametrize("limit", [as_nightly(300), 600])
def test_pages_join_to_the_output_and_stay_within_the_limit(inside, toy_family, name, limit):
    tokenizer = open_tokenizer(name)
    shown, offset = [], 0
    while offset is not None:
        ran = inside(
            *("--tokenizer", name, "-n", str(limit + 200), "--token-offset", str(offset), "-o", "json"),
            stdin=TEXT.encode() * 9,
        )
        assert ran.json["meta"]["tokenizer"] == name
        assert count_bytes(ran.out, tokenizer) <= limit + 200
        shown.append(ran.json["data"][0])
        offset = ran.json["meta"].get("next_offset")
    assert len(shown) > 1
    assert "".join(shown) == TEXT * 9


def test_a_family_added_from_outside_works_like_the_others(inside, toy_family):
    assert inside("--tokenizer", "toy-words", "--token-count", stdin=b"one two  three\n").out == b"3\n"
    ran = inside("--tokenizer", "toy-words", "-n", "2", "--sentinel", "", stdin=b"one two three")
    assert (ran.status, ran.out) == (0, b"one two ")
    assert tokenizer_names()[-1] == "toy-words"
    assert "or toy-words, or add" in inside("--tokenizer", "nonsense", "--", "true").err.decode()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_opens_its_names_and_no_other(family):
    member = FAMILIES[family]
    for name in member.names:
        assert member.open(name).name == name
        assert member.examine(name) == ""
    assert member.open("no such tokenizer") is None
    assert member.examine("no such tokenizer") is None


def test_a_name_is_examined_without_loading_its_table():
    assert examine_tokenizer_name("cl100k_base") == examine_tokenizer_name("gpt-4o") == ""
    assert "p50k_base" in examine_tokenizer_name("text-davinci-003")
    with pytest.raises(TokenizerUnavailable, match="'nonsense' is not a known tokenizer"):
        examine_tokenizer_name("nonsense")
