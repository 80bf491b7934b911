"""The embedded encodings have the tokens of tiktoken, with compiled code and without."""

import hashlib
import random
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given

from tests.support.payloads import TOKENIZERS
from tests.support.program import ROOT
from tests.support.reference import ENCODINGS, reference
from tests.support.texts import ANYTHING, SURROUNDINGS, code_points, is_one_of_many
from tests.support.tiers import examples, some_everyday, times
from tests.support.vocabularies import packed, published_table, ranks_of_table
from tokcap.tokens import embedded

NOT_COMPILED = "tokcap was built without a C compiler"
each_encoding = pytest.mark.parametrize("name", ENCODINGS)


def compiled_module():
    return pytest.importorskip("tokcap.tokens._native", reason=NOT_COMPILED)


def by_native(name: str, text: str):
    """Return the lengths by compiled code; None if it declines."""
    compiled_module()
    return embedded.EmbeddedTokenizer(name)._native_lengths(text)


def lengths_of(name: str, text: str) -> list[int]:
    """The token lengths according to tiktoken."""
    encoding = reference(name)
    return list(map(len, encoding.decode_tokens_bytes(encoding.encode_ordinary(text))))


def certain(text: str) -> bool:
    return all(unicodedata.category(character) not in ("Cn", "Cs") for character in text)


@each_encoding
@examples(50)
@given(text=ANYTHING)
@example(text="")
@example(text="<|endoftext|>")
def test_any_text_has_the_tokens_of_tiktoken_or_is_declined(name, text):
    found = by_native(name, text)
    assert (found is not None) == certain(text)
    assert found is None or list(found) == lengths_of(name, text)
    assert list(TOKENIZERS[name].token_lengths(text)) == lengths_of(name, text)


def test_compiled_code_knows_common_signs_and_leaves_all_others_to_python():
    _native = compiled_module()
    known = 0
    for number in (point for point in code_points() if point >= 0x80):
        found = _native.sign_classes(f"a{chr(number)}b".encode())
        if found is not None:
            known += 1
            assert found == embedded.classes_of(f"a{chr(number)}b"), hex(number)
    assert known > (1000 if times() > 1 else 50)


@each_encoding
def test_every_character_has_the_tokens_of_tiktoken_whatever_is_around_it(name):
    known = [chr(point) for point in code_points() if certain(chr(point))]
    assert len(known) > (50_000 if times() > 1 else 3_000)
    for start in range(0, len(known), 64):
        characters = known[start : start + 64]
        # Ideographs, syllables and private use planes behave alike: the first surroundings are enough there.
        for surroundings in SURROUNDINGS[: 1 if is_one_of_many(ord(characters[0])) else None]:
            text = "".join(map(surroundings.format, characters))
            assert list(by_native(name, text)) == lengths_of(name, text), ascii(characters)


@each_encoding
@pytest.mark.parametrize("alphabet", ["ab", "aàb", "=-*", "漢字", "\0\1", "Ab", "e\u0301", " \t", "01"])
def test_long_pieces_are_merged_as_tiktoken_does(name, alphabet):
    dice = random.Random(alphabet)
    for size in (2, 5, 20, 99, 254, 255, 256, 257, 600, 2047, 2048):
        text = "".join(dice.choices(alphabet, k=size))
        # A longer piece than compiled code takes is declined.
        found = by_native(name, text)
        assert found is None or list(found) == lengths_of(name, text)
        assert found is not None or len(text.encode()) > 2048


@pytest.mark.parametrize(
    "character", ["\u0378", "\ufdd0", "\uffff", "\U0010ffff", "\ud800", "\U000e0fff"], ids=ascii
)
def test_a_character_that_is_not_assigned_is_left_to_tiktoken(character):
    assert embedded.classes_of(f"well known, and then {character}") is None


@each_encoding
def test_without_compiled_code_tiktoken_counts(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokcap.tokens._native", None)
    tokenizer, text = embedded.EmbeddedTokenizer(name), (ROOT / "README.md").read_text()
    assert list(tokenizer.token_lengths(text)) == lengths_of(name, text)
    assert not embedded.is_compiled()


# The files of the vocabularies.


# The number of tokens and the digest of the tables that OpenAI has published.
PUBLISHED = {
    "cl100k_base": (100_256, "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"),
    "o200k_base": (199_998, "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"),
}


@pytest.mark.parametrize("name", embedded.NAMES)
def test_a_vocabulary_restores_the_published_table_byte_for_byte(name):
    tokens, sha256 = PUBLISHED[name]
    table = published_table(name)
    assert table.count(b"\n") == tokens
    assert hashlib.sha256(table).hexdigest() == sha256


@pytest.mark.parametrize("name", some_everyday(embedded.NAMES, 1))
def test_compiling_the_restored_table_gives_the_same_file(name):
    ranks = ranks_of_table(published_table(name))
    assert packed(ranks) == Path(embedded.path_of(name)).read_bytes()


WHOLE = Path(embedded.path_of("cl100k_base"))


@pytest.mark.parametrize(
    "damage",
    [
        lambda _whole: None,
        lambda _whole: b"",
        lambda whole: b"other" + whole[5:],
        lambda whole: whole[:40],
        lambda whole: whole[:40_001],
        lambda whole: whole[:-1],
    ],
    ids=["missing", "empty", "another format", "only a beginning", "no buckets", "not all"],
)
@pytest.mark.provokes("TOKENIZER_FAILED", "CUT_FAILED")
def test_a_vocabulary_that_cannot_be_read_costs_exactness_not_output(inside, damage, monkeypatch, tmp_path):
    content = damage(WHOLE.read_bytes())
    if content is not None:
        (tmp_path / WHOLE.name).write_bytes(content)
    monkeypatch.setattr(embedded, "DIRECTORY", str(tmp_path))
    ran = inside("-n", "2000", "--", "sh", "-c", "seq 9000; exit 3")
    assert (ran.status, ran.out[:4]) == (3, b"1\n2\n")
    assert b"warning: counting failed" in ran.err


def test_compiled_code_never_reads_past_damaged_buckets():
    """A damaged table gives tokens that cover the text, or none."""
    _native = compiled_module()
    dice = random.Random(11)
    text = (ROOT / "README.md").read_bytes().decode().encode("ascii", "ignore")
    whole = WHOLE.read_bytes()
    for damage in range(10 * times()):
        table = bytearray(whole)
        for _ in range(10 ** (damage % 5)):
            table[dice.randrange(len(table))] = dice.randrange(256)
        found = _native.token_lengths(
            bytes(table[: dice.randrange(70_000, len(table))]), "o200k_base", text, text
        )
        assert found is None or sum(found) == len(text)
    with pytest.raises(ValueError, match="not a bucket file"):
        _native.token_lengths(whole[:65_000], "o200k_base", text, text)
    with pytest.raises(ValueError, match="unknown pre-split: gpt2"):
        _native.token_lengths(whole, "gpt2", text, text)
